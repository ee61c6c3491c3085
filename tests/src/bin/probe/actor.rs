//! The probe in the place of an actor: it takes its descriptors, reads its task, is sealed by the row it stands in
//! for, and says that it is ready. Then it does its task and stays, holding its edges and beating, until it is killed.
//!
//! The task is the file `task` in its own folder: a word on the first line, its items on the others. The file `lives`
//! counts how often it was started, since some tasks take one life for each item.

use crate::{Fault, calls, files, hostile, say};
use confine::{Watch, passing};
use manifest::command::{FRAME, Frame, Kind, Mode, Role};
use manifest::{Process, Row};
use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

/// How often it looks for frames.
const LOOK: Duration = Duration::from_millis(10);
/// Looks between two beats.
const BEAT: u32 = 100;

/// One end of an edge.
pub(crate) struct Held {
    pub(crate) peer: Process,
    pub(crate) role: Role,
    pub(crate) stream: UnixStream,
}

/// The edges that nobody has taken yet.
pub(crate) type Edges = Rc<RefCell<Vec<Held>>>;

/// The acts to try.
struct Task {
    word: String,
    items: Vec<String>,
    life: usize,
}

impl Task {
    fn read() -> Result<Self, Fault> {
        let text = fs::read_to_string("task")?;
        let mut lines = text.lines().map(str::to_owned);
        let word = lines.next().unwrap_or_default();
        let mut lives = OpenOptions::new().create(true).append(true).open("lives")?;
        lives.write_all(b".")?;
        let life = usize::try_from(lives.metadata()?.len())?;
        Ok(Self { word, items: lines.collect(), life })
    }

    /// The items of this life and, should it outlive them, of the later ones.
    fn left(&self) -> impl Iterator<Item = &String> {
        self.items.iter().skip(self.life - 1)
    }
}

/// Is that process until agentd is gone.
pub(crate) fn run(row: &'static Row) -> Result<(), Fault> {
    say(&format_args!("holds {} and {} variables", crate::held(), std::env::vars_os().count()));
    let control = passing::inherited_control().ok_or("no control descriptor")?;
    let mode = start_frame(&control)?;
    let task = Task::read()?;
    match task.word.as_str() {
        "files" => files::before_the_seal(row),
        "peers" => files::peers(),
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    passing::set_nonblocking(control.as_fd())?;
    confine::seal(row, mode, Watch::Agentd(control.as_fd()))?;
    passing::send_plain(control.as_fd(), &Frame::new(Kind::Ready, row.process).encode())?;
    say(&format_args!("life {}", task.life));
    tokio::task::LocalSet::new().block_on(&runtime, live(row.process, control, task))
}

fn start_frame(control: &OwnedFd) -> Result<Mode, Fault> {
    let (bytes, _section) = passing::receive::<FRAME>(control.as_fd())?.ok_or("agentd is gone")?;
    let frame = Frame::decode(&bytes).filter(|frame| frame.kind == Kind::Start).ok_or("no start frame")?;
    let [mode, ..] = frame.words;
    Mode::from_number(mode).ok_or_else(|| "unknown mode".into())
}

/// Takes frames and beats. The task begins when every edge that exists has come.
async fn live(me: Process, control: OwnedFd, task: Task) -> Result<(), Fault> {
    let edges = Edges::default();
    let mut task = Some(task);
    let mut looks = 0;
    loop {
        match passing::receive::<FRAME>(control.as_fd()) {
            Ok(Some((bytes, descriptors))) => match Frame::decode(&bytes).ok_or("not a frame")? {
                frame if frame.kind == Kind::Edge => edges.borrow_mut().extend(held(&frame, descriptors)),
                frame if frame.kind == Kind::Drain => return Ok(()),
                frame if frame.kind == Kind::Plumbed => {
                    if let Some(task) = task.take() {
                        if task.word == "tell" {
                            tell(&control, me, &task);
                        }
                        tokio::task::spawn_local(attempt(me, task, Rc::clone(&edges)));
                    }
                }
                _ => {}
            },
            Err(error) if error.kind() == ErrorKind::WouldBlock => tokio::time::sleep(LOOK).await,
            Ok(None) | Err(_) => return Ok(()),
        }
        looks += 1;
        if looks % BEAT == 0 {
            drop(passing::send_plain(control.as_fd(), &Frame::new(Kind::Heartbeat, me).encode()));
        }
    }
}

/// Says which end of which edge came, and with how many descriptors.
fn held(frame: &Frame, descriptors: Vec<OwnedFd>) -> Option<Held> {
    let role = if frame.role == Role::Client { "to" } else { "from" };
    say(&format_args!("edge {role} {} with {}", frame.peer.name(), descriptors.len()));
    let stream = UnixStream::from(descriptors.into_iter().next()?);
    stream.set_nonblocking(true).ok()?;
    Some(Held { peer: frame.peer, role: frame.role, stream })
}

/// Says this life's item to agentd: a kind of frame by its number, about itself.
fn tell(control: &OwnedFd, me: Process, task: &Task) {
    let Some(item) = task.left().next() else { return };
    let mut frame = Frame::new(Kind::Ready, me).with(&[1; 14]).encode();
    if let (Some(bytes), Ok(number)) = (frame.first_chunk_mut::<2>(), item.parse::<u16>()) {
        *bytes = number.to_le_bytes();
    }
    say(&format_args!("tell {item}"));
    drop(passing::send_plain(control.as_fd(), &frame));
}

async fn attempt(me: Process, task: Task, edges: Edges) {
    match task.word.as_str() {
        "calls" => {
            for edge in clients(&edges) {
                calls::every_method(me, edge).await;
            }
        }
        "files" => task.items.iter().for_each(|item| files::attempt(item)),
        "acts" => task.left().for_each(|item| act(item)),
        "attack" => {
            if let Some(attack) = task.left().next() {
                hostile::attack(me, attack, clients(&edges)).await;
            }
        }
        "answer" => {
            if let Some(lie) = task.left().next() {
                hostile::answer(me, lie, &edges).await;
            }
        }
        _ => {}
    }
    say(&"done");
}

/// The edges on which this process calls.
fn clients(edges: &Edges) -> Vec<Held> {
    edges.borrow_mut().extract_if(.., |held| held.role == Role::Client).collect()
}

/// Does what it should die by.
fn act(name: &str) {
    let Some(act) = confine::acts::ACTS.iter().find(|act| act.name == name) else { return };
    say(&format_args!("act {name}"));
    let came = confine::acts::perform(act);
    say(&format_args!("survived {name}: {came:?}"));
}
