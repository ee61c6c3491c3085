//! Finding among many rows: three-word questions to memory's own program in its offline mode, which answers with the code
//! that serves, and the full-text index alone in the same run. Rows and questions are made up of the same words, which
//! are as unevenly common as those of a language.

use crate::figure::Figure;
use crate::person;
use crate::spread::Samples;
use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Rows, how many questions are timed, and what is asked of the median, ms.
const SIZES: [(u64, usize, f64); 2] = [(100_000, 500, 5.0), (1_000_000, 100, 40.0)];
/// Words of a row, rows of a session, and words of a question.
pub(crate) const OF_ROW: usize = 14;
const OF_SESSION: u64 = 20;
const OF_QUESTION: usize = 3;
/// Words that there are, and how many of the most common are in no question, being like "the".
const WORDS: f64 = 20_000.0;
const COMMON: f64 = 20.0;

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (rows, questions, asked) in SIZES {
        let [mut both, mut plain, mut weight, mut without] = <[Samples; 4]>::default();
        let mut memory = Memory::filled(rows)?;
        without.add(memory.weight()?);
        // The index that the first question builds is not part of the others' time.
        memory.ask("a first question", "fused")?;
        weight.add(memory.weight()?);
        let mut words = Words::new(2);
        for _ in 0..questions {
            let question = words.text(OF_QUESTION, COMMON);
            both.add_millis(memory.ask(&question, "fused")?);
            plain.add_millis(memory.ask(&question, "plain")?);
        }
        memory.end()?;
        figures.push(
            Figure::new(format!("finding among {rows} rows, by words and by meaning"), "ms", &both)
                .floor("FTS5, any of the words", &plain)
                .at_most(asked),
        );
        let name = format!("memory with {rows} rows, its database in memory as well: PSS");
        figures.push(Figure::new(name, "MiB", &weight).floor("the same without an index", &without));
    }
    Ok(figures)
}

/// Memory's program, with rows in it.
struct Memory {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Memory {
    /// Fills it; what the first question waits for is none of the others' time.
    fn filled(rows: u64) -> io::Result<Self> {
        let mut command = Command::new(person::programs()?.join("memory"));
        command.args(["--offline", "eval", "--limit", "10"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (to, from) = ends.ok_or(io::ErrorKind::BrokenPipe)?;
        let mut memory = Self { child, to: BufWriter::new(to), from: BufReader::new(from) };
        let mut words = Words::new(1);
        for row in 0..rows {
            let (session, text) = (row / OF_SESSION, words.text(OF_ROW, 0.0));
            let time = 1_900_000_000 + row * 60;
            writeln!(
                memory.to,
                "{{\"op\":\"add\",\"id\":{row},\"session\":{session},\"time\":{time},\"speaker\":\"S{}\",\"text\":\"{text}\"}}",
                row % 2,
            )?;
        }
        memory.ask("a first question", "plain")?;
        Ok(memory)
    }

    /// How long an answer takes.
    fn ask(&mut self, question: &str, manner: &str) -> io::Result<Duration> {
        let began = Instant::now();
        writeln!(self.to, "{{\"op\":\"ask\",\"id\":0,\"question\":\"{question}\",\"manner\":\"{manner}\"}}")?;
        self.to.flush()?;
        let mut answer = String::new();
        if self.from.read_line(&mut answer)? == 0 {
            return Err(io::Error::other("memory ended"));
        }
        Ok(began.elapsed())
    }

    /// The kernel's word on its memory, MiB.
    fn weight(&self) -> io::Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0).ok_or_else(|| io::Error::other("no PSS"))
    }

    fn end(self) -> io::Result<()> {
        let Self { mut child, to, from } = self;
        drop(to);
        drop(from);
        child.wait().map(drop)
    }
}

/// Words by chance, the same in every run; the state of the generator (SplitMix64).
pub(crate) struct Words(u64);

impl Words {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Some words with a blank between, none of them among so many of the most common.
    pub(crate) fn text(&mut self, words: usize, but: f64) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word(but)).collect();
        words.join(" ")
    }

    /// The word of rank r comes with a chance of about 1/r.
    fn word(&mut self, but: f64) -> String {
        let rank = (but + 1.0) * (self.chance() * (WORDS / (but + 1.0)).ln()).exp();
        let syllables = ["ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "ki", "zo"];
        // Counted in syllables, so that each word is of its own and looks like one.
        let (mut rest, mut word) = (rank.floor(), String::from("w"));
        while rest > 0.0 {
            let digit = rest % 14.0;
            word.push_str(
                syllables.iter().zip(0_u8..).find(|(_, at)| f64::from(*at) == digit).map_or("", |it| it.0),
            );
            rest = ((rest - digit) / 14.0).floor();
        }
        word
    }

    /// From 0 to 1.
    fn chance(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let half = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let whole = (half ^ (half >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bits = u32::try_from((whole ^ (whole >> 31)) >> 32).unwrap_or_default();
        f64::from(bits) / f64::from(u32::MAX)
    }
}
