//! A turn as a person meets it, over a connection that is there: accepted durably, scanned, a runner launched in its
//! jail, a model call and an answer through the gate, durable again, and followed to its end.

use crate::figure::Figure;
use crate::floors;
use crate::person::{self, Person};
use crate::spread::Samples;
use ipc_proto::Text;
use ipc_proto::control::method;
use ipc_proto::memory::Area;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;
use tests::Host;

const ROUNDS: usize = 20;
/// Turns of one kind in a round.
const TURNS: usize = 10;
/// Facts that are remembered beside the one that is recalled.
const FACTS: usize = 100;
/// Files of the workspace that the question is about.
const FILES: usize = 1_000;

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    kit::bench::run(figures())?
}

async fn figures() -> io::Result<Vec<Figure>> {
    let host = person::host("")?;
    let person = Person::connect(&host.socket()).await?;
    remember(&person).await?;
    attach(&host)?;
    let [mut echo, mut recall, mut question] = <[Samples; 3]>::default();
    let [mut append, mut spawn] = <[Samples; 2]>::default();
    for round in 0..=ROUNDS {
        let echoes = timed(&person, "echo", "echo: what goes up", "goes up", TURNS).await?;
        let appends = floors::append(host.dir(), TURNS)?;
        let spawns = floors::spawn(TURNS)?;
        let recalls = timed(&person, "recall", "recall harbour office", "07:40", TURNS / 2).await?;
        let questions = timed(&person, "files", "who is the lighthouse keeper?", "Ines", 2).await?;
        if round > 0 {
            echo.append(echoes);
            append.append(appends);
            spawn.append(spawns);
            recall.append(recalls);
            question.append(questions);
        }
    }
    let floor = append.plus(&spawn);
    let floor_name = "posix_spawn of /bin/true and one append with fdatasync";
    Ok(vec![
        Figure::new("turn: echo", "ms", &echo).floor(floor_name, &floor).at_most(15.0),
        Figure::new(format!("turn: recall of 1 in {} facts", FACTS + 1), "ms", &recall)
            .floor(floor_name, &floor),
        Figure::new(format!("turn: question over {FILES} files"), "ms", &question).floor(floor_name, &floor),
        Figure::new("append of 256 bytes with fdatasync", "ms", &append),
        Figure::new("posix_spawn of /bin/true", "ms", &spawn),
    ])
}

/// Times turns, each of which must be answered with this.
async fn timed(person: &Person, session: &str, say: &str, hear: &str, turns: usize) -> io::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..turns {
        let began = Instant::now();
        let answer = person.say(session, None, say).await?;
        samples.add_millis(began.elapsed());
        if !answer.contains(hear) {
            return Err(io::Error::other(format!("asked {say:?}, it answered {answer:?}")));
        }
    }
    Ok(samples)
}

async fn remember(person: &Person) -> io::Result<()> {
    let facts =
        (0..FACTS).map(|at| format!("note {at}: the committee of street {at} meets in room {}", at % 7));
    for fact in facts.chain(["the harbour office opens at 07:40 on Tuesdays".to_owned()]) {
        let add = async |control: &ipc_proto::control::ControlClient, context| {
            control.memory_write(context, Area::User, crate::person::note(Text::clip(&fact))).await
        };
        person.ask(&method::memory_write, add).await?;
    }
    Ok(())
}

/// Gives the session `files` a directory of notes, as a person does.
fn attach(host: &Host) -> io::Result<()> {
    let folder = host.dir().join("notes");
    write_notes(&folder)?;
    let said =
        host.ctl(&["chat", "--session", "files", "--workspace", &folder.to_string_lossy(), "-m", "echo: x"]);
    if said.status.success() { Ok(()) } else { Err(io::Error::other(String::from_utf8_lossy(&said.stderr))) }
}

/// Notes of about 1 KiB each; one of them knows.
fn write_notes(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    for at in 0..FILES {
        let line =
            format!("In week {at} the boats of pier {} were counted and the list was signed.\n", at % 7);
        let mut text = format!("# Note {at}\n\n{}", line.repeat(16));
        if at == FILES / 2 {
            text += "The lighthouse keeper is called Ines.\n";
        }
        fs::write(folder.join(format!("note-{at}.md")), text)?;
    }
    Ok(())
}
