//! `agentd-config`: executed by agentd once at start, with null as standard input and agentd's descriptor as standard
//! output. It writes the document, or reports on standard error and writes nothing. Exit codes: 0, 64 usage, 74 the
//! output could not be written, 78 configuration.

use agentd_config::args::{Args, Task, USAGE};
use agentd_config::machine::Machine;
use agentd_config::plan::Plan;
use agentd_config::summary::Summary;
use agentd_config::{Source, accounts::Accounts, read, reference, time_zone};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::Uid;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

const EX_USAGE: u8 = 64;
const EX_IOERR: u8 = 74;
const EX_CONFIG: u8 = 78;

fn main() -> ExitCode {
    let Some(args) = Args::parse(std::env::args_os().skip(1)) else { return complain(USAGE, EX_USAGE) };
    match output(&args) {
        Ok(bytes) => match io::stdout().lock().write_all(&bytes) {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => {
                complain(&format!("agentd-config: the output cannot be written: {cause}\n"), EX_IOERR)
            }
        },
        Err(report) => complain(&report, EX_CONFIG),
    }
}

/// The text for standard output.
fn output(args: &Args) -> Result<Vec<u8>, String> {
    match args.task {
        Task::Reference => Ok(reference::markdown().into_bytes()),
        Task::Man => Ok(reference::man().into_bytes()),
        Task::Check => {
            let (name, plan) = plan(args)?;
            document(&plan)?;
            Ok(Summary { name: &name, plan: &plan }.to_string().into_bytes())
        }
        Task::Write => {
            // Nothing else waits for this process: it must not outlive a killed agentd, even if it was stopped.
            let _ = set_pdeathsig(Signal::SIGKILL);
            document(&plan(args)?.1)
        }
    }
}

fn plan(args: &Args) -> Result<(String, Plan), String> {
    let source = Source::open(args.config.as_deref()).map_err(|report| report.to_string())?;
    let state_dir = args.state_dir.as_deref().unwrap_or(Path::new("/var/lib/cordon"));
    // The path is printed whole; the receiver of the output is named elsewhere.
    let file = args.config.as_deref().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.into()));
    let machine = Machine {
        owner: args.owner.unwrap_or(Uid::current().as_raw()),
        root: Uid::effective().is_root(),
        state_dir: state_dir.to_string_lossy().into_owned(),
        file: file.map(|file| file.to_string_lossy().into_owned()).unwrap_or_default(),
        accounts: Accounts::read(Path::new("/etc"), Path::new("/proc/self/uid_map")),
        time_zone: time_zone::of(Path::new("/etc/localtime")),
    };
    let plan = read(&source, &machine).map_err(|report| report.to_string())?;
    Ok((source.name, plan))
}

fn document(plan: &Plan) -> Result<Vec<u8>, String> {
    plan.document().map_err(|fault| format!("agentd-config: {fault}\n"))
}

fn complain(text: &str, code: u8) -> ExitCode {
    // With standard error closed, the exit code alone reports the fault.
    let _ = io::stderr().lock().write_all(text.as_bytes());
    ExitCode::from(code)
}
