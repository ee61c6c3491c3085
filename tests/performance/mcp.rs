//! Servers of the Model Context Protocol: the time that a call of a tool and a use of a running server add to the server's own answer,
//! and the host's memory while a server sends a line without end.

use crate::figure::Figure;
use crate::idle::weight_of;
use crate::person::{self, Person};
use crate::spread::Samples;
use ipc_proto::control::{ControlClient, method};
use ipc_proto::mcp::{Act, Reply};
use ipc_proto::{Name, Text};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tests::Host;

/// The server, which speaks over its standard streams.
const SERVER: &str = include_str!("mcp_server.py");
const ROUNDS: usize = 20;
/// Calls of the larger of two turns; the other has one.
const CALLS: usize = 31;
/// Uses of the running server in a round.
const USES: usize = 10;
/// Between two looks at the host's memory.
const LOOK: Duration = Duration::from_millis(20);

/// Its figures.
pub(crate) fn measure() -> io::Result<Vec<Figure>> {
    kit::bench::run(figures())?
}

async fn figures() -> io::Result<Vec<Figure>> {
    let host = person::host(&config())?;
    let approved = host.ctl(&["mcp", "approve", "bench", "--yes"]);
    if !approved.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&approved.stderr)));
    }
    let person = Person::connect(&host.socket()).await?;
    let mut direct = Direct::start()?;
    let [mut call, mut reuse, mut own_call, mut own_read] = <[Samples; 4]>::default();
    for round in 0..=ROUNDS {
        let one = turn(&person, &format!("one-{round}"), 1).await?;
        let many = turn(&person, &format!("many-{round}"), CALLS).await?;
        let reads = reads(&person).await?;
        let (calls, own) = direct.answers()?;
        if round == 0 {
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "a few calls")]
        let each = (many.as_secs_f64() - one.as_secs_f64()) * 1e3 / (CALLS - 1) as f64;
        let spread = calls.spread().map_or(f64::NAN, |spread| spread.p50);
        call.add(each - spread);
        let spread = own.spread().map_or(f64::NAN, |spread| spread.p50);
        reads.into_iter().for_each(|took| reuse.add(took.as_secs_f64() * 1e3 - spread));
        own_call.append(calls);
        own_read.append(own);
    }
    let grown = flood(&host, &person).await?;
    Ok(vec![
        Figure::new("MCP: a call of a turn, added to the server's own answer", "ms", &call)
            .floor("the server's own answer", &own_call)
            .at_most(3.0),
        Figure::new("MCP: a running server used again, added to its own answer", "ms", &reuse)
            .floor("the server's own answer", &own_read)
            .at_most(1.0),
        Figure::new(
            "MCP: growth of the host while a server sends a line of 4 GiB, sum of PSS",
            "MiB",
            &grown,
        )
        .at_most(8.0),
    ])
}

fn config() -> String {
    let command = json!(["python3", "-c", SERVER]);
    format!(
        "[agent.default]\nmodel = \"offline/hijackable\"\nprofile = \"power-user\"\n\
         [mcp.bench]\ncommand = {command}\nagents = [\"default\"]\nscope = \"host\"\n"
    )
}

/// The time of a turn with so many calls.
async fn turn(person: &Person, session: &str, calls: usize) -> io::Result<Duration> {
    let mut message = "echo: ".to_owned();
    for n in 0..calls {
        let _ = write!(message, "!!CALL bench__tick {{\"n\":{n}}}!! ");
    }
    let began = Instant::now();
    let answer = person.say(session, None, &message).await?;
    let took = began.elapsed();
    if answer.matches("counted").count() == calls {
        return Ok(took);
    }
    Err(io::Error::other(format!("of {calls} calls it answered {answer:?}")))
}

/// The times in which a person reads a resource of the server that runs for them.
async fn reads(person: &Person) -> io::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..USES {
        let began = Instant::now();
        match read(person, "memo://one").await? {
            Reply::Done { failed: false, .. } => times.push(began.elapsed()),
            other => return Err(io::Error::other(format!("read: {other:?}"))),
        }
    }
    Ok(times)
}

async fn read(person: &Person, uri: &str) -> io::Result<Reply> {
    let ask = async |control: &ControlClient, context| {
        control.mcp_ask(context, Name::clip("bench"), Act::Read { uri: Text::clip(uri) }).await
    };
    person.ask(&method::mcp_ask, ask).await
}

/// The most that the host's processes, the jail's bridge among them, have grown by while the server sends.
async fn flood(host: &Host, person: &Person) -> io::Result<Samples> {
    let mut grown = Samples::default();
    for _ in 0..3 {
        reads(person).await?;
        let (agentd, over) = (host.agentd(), Arc::new(AtomicBool::new(false)));
        let before = weight_of(agentd)?;
        let ended = Arc::clone(&over);
        let watching = std::thread::spawn(move || {
            let mut most = before;
            while !ended.load(Ordering::Relaxed) {
                most = most.max(weight_of(agentd).unwrap_or_default());
                std::thread::sleep(LOOK);
            }
            most - before
        });
        let replied = read(person, "memo://flood").await;
        over.store(true, Ordering::Relaxed);
        let most = watching.join().map_err(|_| io::Error::other("the watch on the memory failed"))?;
        if let Ok(Reply::Done { .. }) = replied {
            return Err(io::Error::other("the host took a line of 4 GiB"));
        }
        grown.add(most);
    }
    Ok(grown)
}

/// The same server, asked without a host.
struct Direct {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Direct {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Direct {
    fn start() -> io::Result<Self> {
        let mut command = Command::new("python3");
        let mut child = command.args(["-c", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let output = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        Ok(Self { child, input, output })
    }

    /// The times of its own answers: to calls and to reads.
    fn answers(&mut self) -> io::Result<(Samples, Samples)> {
        let (mut calls, mut reads) = <(Samples, Samples)>::default();
        for _ in 0..USES {
            calls.add_millis(self.ask("tools/call", &json!({ "name": "tick", "arguments": { "n": 1 } }))?);
            reads.add_millis(self.ask("resources/read", &json!({ "uri": "memo://one" }))?);
        }
        Ok((calls, reads))
    }

    fn ask(&mut self, method: &str, params: &serde_json::Value) -> io::Result<Duration> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let began = Instant::now();
        writeln!(self.input, "{message}")?;
        self.output.read_line(&mut String::new())?;
        Ok(began.elapsed())
    }
}
