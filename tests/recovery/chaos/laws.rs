//! The laws, checked on a host at peace: its listings, its record, the files that its agents wrote, and what the
//! kernel says of its processes.

use crate::asker::Asker;
use crate::promises::{Effect, Promises, Said};
use crate::record::{self, Facts};
use crate::stand::Stand;
use ipc_proto::approval::Reply;
use ipc_proto::control::method;
use ipc_proto::memory::{Area, Filter, Start};
use ipc_proto::router::{Accepted, MessageState, MessageView};
use ipc_proto::{List, Text};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::{Duration, Instant};

/// How long one question of the judge may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Messages that are sent once more with the key that they had.
const AGAIN: usize = 50;

/// A law that did not hold.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    law: &'static str,
    what: String,
}

impl Broken {
    /// This law, and where it did not hold.
    pub(crate) const fn new(law: &'static str, what: String) -> Self {
        Self { law, what }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.law, self.what)
    }
}

/// The observations of a run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Messages by the state they ended in.
    pub(crate) ends: BTreeMap<&'static str, u32>,
    /// Lines of all ledgers.
    pub(crate) lines: usize,
    /// Memories that were kept.
    pub(crate) memories: usize,
    /// Entries of the record.
    pub(crate) entries: u64,
}

/// Lines of the ledgers: by the line, and of scripts by the workspace.
struct Ledgers(HashMap<(String, String), u32>);

impl Ledgers {
    fn of(&self, said: &Said, workspace: Option<&str>) -> u32 {
        let count = |line: &str, fits: &dyn Fn(&str) -> bool| -> u32 {
            let found = self.0.iter().filter(|((at, it), _)| it == line && fits(at));
            found.map(|(_, count)| count).sum()
        };
        match (said.effect, workspace) {
            (Effect::Script, Some(at)) => count("one", &|it| it == at) + count("two", &|it| it == at),
            (Effect::Script, None) => 0,
            (Effect::Line | Effect::Asked, _) => count(&said.token, &|_| true),
        }
    }
}

/// Checks everything that can be asked of a host that runs.
pub(crate) fn check(
    stand: &Stand,
    promises: &Promises,
    asker: &mut Asker,
) -> io::Result<(Vec<Broken>, Tally)> {
    let (mut broken, mut tally) = (Vec::new(), Tally::default());
    let facts = match record::read(asker) {
        Ok(facts) => facts,
        Err(fault) => return Ok((vec![fault], tally)),
    };
    broken.extend(facts.laws(promises));
    tally.entries = facts.entries;
    let mut ledgers = HashMap::new();
    for place in stand.ledgers()? {
        *ledgers.entry(place).or_default() += 1_u32;
        tally.lines += 1;
    }
    for ((workspace, line), count) in ledgers.iter().filter(|(_, count)| **count > 1) {
        broken.push(Broken::new("no effect happens twice", format!("{line}: {count} times in {workspace}")));
    }
    let ledgers = Ledgers(ledgers);
    for (said, accepted) in promises.accepted() {
        match view(asker, accepted) {
            Ok(view) => {
                *tally.ends.entry(view.info.state.name()).or_default() += 1;
                broken.extend(ends(said, accepted, &view, &facts));
                let workspace = workspace(said, asker);
                broken.extend(effects(
                    said,
                    accepted,
                    &view,
                    &facts,
                    ledgers.of(said, workspace.as_deref()),
                    promises,
                ));
            }
            Err(why) => broken
                .push(Broken::new("an acknowledged message is not lost", format!("{}: {why}", said.token))),
        }
    }
    broken.extend(same_keys(promises, asker));
    broken.extend(memories(promises, asker, &mut tally));
    let (well, attested) = stand.ctl(&["attest"])?;
    if !well {
        broken.push(Broken::new("the kernel's word is the table's", attested.to_string()));
    }
    Ok((broken, tally))
}

fn soon() -> impl Fn() -> bool {
    let until = Instant::now() + PATIENCE;
    move || Instant::now() < until
}

fn view(asker: &mut Asker, accepted: &Accepted) -> Result<MessageView, String> {
    let asked = asker.patiently(&method::message, soon(), async |control, context| {
        control.message(context, accepted.message).await
    });
    asked.map_err(|trouble| format!("{trouble:?}"))
}

/// The folder of a script's workspace, which no other message shares.
fn workspace(said: &Said, asker: &mut Asker) -> Option<String> {
    if said.effect != Effect::Script {
        return None;
    }
    let session = said.ask.session.clone();
    let asked = asker.patiently(&method::session, soon(), async |control, context| {
        control.session(context, session.clone()).await
    });
    let id = asked.ok()?.info.workspace.bytes();
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// One end, and nothing of it is still under way.
fn ends(said: &Said, accepted: &Accepted, view: &MessageView, facts: &Facts) -> Vec<Broken> {
    use MessageState::{Answered, Blocked, Cancelled, Failed, Quarantined, Recalled};
    const ENDS: [MessageState; 6] = [Answered, Blocked, Cancelled, Failed, Quarantined, Recalled];
    let mut broken = Vec::new();
    let passed: Vec<MessageState> = view.states.iter().map(|passed| passed.state).collect();
    let told = |what: &str| format!("{} (message {}): {what}: {passed:?}", said.token, accepted.message);
    let is_over = view.info.state == MessageState::Delivered || ENDS.contains(&view.info.state);
    if !is_over || passed.iter().filter(|state| ENDS.contains(state)).count() != 1 {
        broken.push(Broken::new(
            "an acknowledged message comes to exactly one end",
            told(view.info.state.name()),
        ));
    }
    let running = passed.iter().filter(|state| **state == MessageState::Running).count();
    if facts.starts(accepted.turn) < u32::try_from(running).unwrap_or(u32::MAX) {
        broken.push(Broken::new("no turn is started without its record", told("started unrecorded")));
    }
    if said.recalled && view.info.state != Recalled {
        broken.push(Broken::new("what was taken back stays taken back", told(view.info.state.name())));
    }
    broken
}

/// The effects in the workspace are those that the host reports.
fn effects(
    said: &Said,
    accepted: &Accepted,
    view: &MessageView,
    facts: &Facts,
    lines: u32,
    promises: &Promises,
) -> Vec<Broken> {
    let mut broken = Vec::new();
    let told = |what: &str| format!("{} (turn {}): {lines} lines, {what}", said.token, accepted.turn);
    let released = facts.released.get(&accepted.turn).map_or(0, std::collections::HashSet::len);
    if usize::try_from(lines).is_ok_and(|lines| lines > released) {
        broken.push(Broken::new(
            "no effect without its decision on the record",
            told("and fewer released calls"),
        ));
    }
    let said_so = view.finished.as_ref().is_some_and(|it| it.text.trim_end().ends_with("exit status 0"));
    if said.effect != Effect::Script && said_so && lines == 0 {
        broken.push(Broken::new("what an answer says was done was done", told("and a good exit status")));
    }
    let answer = promises.answers.get(&accepted.turn);
    let nobody_said_yes =
        answer == Some(&Reply::Deny) || (answer.is_none() && !promises.unsure.contains(&accepted.turn));
    if said.effect == Effect::Asked && nobody_said_yes && lines > 0 {
        broken.push(Broken::new("what no person allowed does not happen", told("without a yes")));
    }
    if said.recalled && lines > 0 {
        broken.push(Broken::new("what was taken back does not happen", told("although it was taken back")));
    }
    broken
}

/// The same key is the same message, also after everything that fell.
fn same_keys(promises: &Promises, asker: &mut Asker) -> Vec<Broken> {
    let accepted: Vec<(&Said, &Accepted)> = promises.accepted().collect();
    let last = accepted.get(accepted.len().saturating_sub(AGAIN)..).unwrap_or_default();
    let differs = |(said, before): &(&Said, &Accepted)| {
        let again = asker.patiently(&method::submit, soon(), async |control, context| {
            control.submit(context, said.ask.clone()).await
        });
        match again {
            Ok(now) if (now.message, now.turn) == (before.message, before.turn) => None,
            came => Some(Broken::new(
                "the same key is the same message",
                format!("{}: {before:?}, {came:?}", said.token),
            )),
        }
    };
    last.iter().filter_map(differs).collect()
}

fn memories(promises: &Promises, asker: &mut Asker, tally: &mut Tally) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (id, text) in &promises.memories {
        let shown = asker.patiently(&method::memory_read, soon(), async |control, context| {
            control.memory_read(context, Area::User, List::clip([*id])).await
        });
        match shown {
            Ok(rows) if rows.first().is_some_and(|row| *row.entry.content == **text) => tally.memories += 1,
            came => {
                broken.push(Broken::new("what was remembered is remembered", format!("{text}: {came:?}")))
            }
        }
    }
    broken.extend(once(asker));
    broken
}

/// Nothing is remembered twice.
fn once(asker: &mut Asker) -> Vec<Broken> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut offset = 0;
    loop {
        let listed = asker.patiently(&method::memory_list, soon(), async |control, context| {
            control.memory_list(context, Area::User, Filter::default(), 100, Start::After(offset)).await
        });
        let Ok(rows) = listed else { break };
        if rows.is_empty() {
            break;
        }
        offset += u32::try_from(rows.len()).unwrap_or(u32::MAX);
        rows.iter().for_each(|row| *seen.entry(row.entry.content.to_string()).or_default() += 1);
    }
    let twice = seen.into_iter().filter(|(_, count)| *count > 1);
    twice
        .map(|(text, _)| Broken::new("nothing is remembered twice", Text::<200>::clip(&text).to_string()))
        .collect()
}
