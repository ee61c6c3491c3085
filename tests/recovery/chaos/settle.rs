//! Peace: every fault ends, what is held is released, what is paused goes on, and whatever was accepted comes to its
//! end. What does not is a broken law.

use crate::asker::Asker;
use crate::faults::Storm;
use crate::laws::Broken;
use crate::people::Shared;
use crate::stand::Stand;
use ipc_proto::Text;
use ipc_proto::control::{HostStatus, method};
use std::io;
use std::time::{Duration, Instant};

/// How long the host may take to be well, and its queue to be empty. Processes that died often wait up to 10 s for
/// their next start, and a question 10 s for its answer.
const PATIENCE: Duration = Duration::from_secs(240);
const TICK: Duration = Duration::from_millis(100);

/// Waits for the host to be ready, releasing as an operator what has been held.
pub(crate) fn ready(stand: &mut Stand, storm: &mut Storm, asker: &mut Asker) -> io::Result<Vec<Broken>> {
    let until = Instant::now() + PATIENCE;
    let mut last = "nobody answers".to_owned();
    while Instant::now() < until {
        storm.pass(stand, TICK)?;
        match asker.once(&method::status, async |control, context| control.status(context).await) {
            Ok(status) if status.state.as_str() == "ready" => return Ok(Vec::new()),
            Ok(status) => {
                release(&status, asker);
                last = described(&status);
            }
            Err(trouble) => last = format!("{trouble:?}"),
        }
    }
    Ok(vec![Broken::new("the host heals by itself", format!("{last} for {PATIENCE:?}"))])
}

/// Releases, as an operator would, what died too often in a row.
pub(crate) fn release(status: &HostStatus, asker: &mut Asker) {
    for process in status.processes.iter().filter(|process| process.state.as_str() == "held") {
        let name = process.name.clone();
        drop(
            asker.once(&method::release, async |control, context| {
                control.release(context, name.clone()).await
            }),
        );
    }
}

fn described(status: &HostStatus) -> String {
    let away = status.processes.iter().filter(|process| process.state.as_str() != "ready");
    let away: Vec<String> = away.map(|process| format!("{} is {}", process.name, process.state)).collect();
    format!("the host is {}: {} {}", status.state, away.join(", "), status.reason)
}

/// Lets paused sessions go on, and asks again for what nobody knows to have been accepted.
pub(crate) fn tidy(shared: &Shared, asker: &mut Asker) -> Vec<Broken> {
    let mut broken = Vec::new();
    let until = Instant::now() + PATIENCE;
    let paused: Vec<String> = shared.promises().paused.iter().cloned().collect();
    for session in paused {
        let went = asker.patiently(
            &method::pause,
            || Instant::now() < until,
            async |control, context| control.pause(context, Some(Text::clip(&session)), false).await,
        );
        // A session that was never made cannot be paused either.
        drop(went);
    }
    let all = shared.promises().said.clone();
    for (number, said) in all.iter().enumerate().filter(|(_, said)| said.accepted.is_none() && !said.refused)
    {
        let came = asker.patiently(
            &method::submit,
            || Instant::now() < until,
            async |control, context| control.submit(context, said.ask.clone()).await,
        );
        match came {
            Ok(accepted) => {
                if let Some(said) = shared.promises().said.get_mut(number) {
                    said.accepted = Some(accepted);
                }
            }
            Err(trouble) => {
                broken.push(Broken::new("the host accepts again", format!("{}: {trouble:?}", said.token)));
            }
        }
    }
    broken
}

/// Waits until nothing waits and nothing runs.
pub(crate) fn drained(stand: &mut Stand, storm: &mut Storm, asker: &mut Asker) -> io::Result<Vec<Broken>> {
    let until = Instant::now() + PATIENCE;
    let mut last = "nobody answers".to_owned();
    while Instant::now() < until {
        storm.pass(stand, TICK)?;
        match asker.once(&method::queue, async |control, context| control.queue(context).await) {
            Ok(queue) if queue.waiting == 0 && queue.running == 0 => return Ok(Vec::new()),
            Ok(queue) => last = format!("{queue:?}"),
            Err(trouble) => last = format!("{trouble:?}"),
        }
    }
    Ok(vec![Broken::new("the queue comes to its end", format!("{last} after {PATIENCE:?}"))])
}
