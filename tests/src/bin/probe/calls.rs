//! Every method of a callee, called over the real edge with harmless arguments by the typed stub. What matters is
//! whether the table let the call through; what it came to is the callee's affair.

use crate::actor::Held;
use crate::raw::context;
use crate::say;
use ipc_proto::api::{Caller, KeyScope, Presented};
use ipc_proto::approval::{Question, Reply as Answer};
use ipc_proto::audit::{Action, AuditClient, Event, Filter, Result3, Serial};
use ipc_proto::config::UserRole;
use ipc_proto::content::Content;
use ipc_proto::credproxy::{Binding, CredproxyClient, Lease, Reply, Request, Verb};
use ipc_proto::curator::{self, CuratorClient};
use ipc_proto::dialer::DialerClient;
use ipc_proto::embedder::EmbedderClient;
use ipc_proto::gate::GateClient;
use ipc_proto::ids::{ApprovalId, CallId, MemoryId, MessageId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::Label;
use ipc_proto::memory::{self, Area, MemoryClient, Scope};
use ipc_proto::model::{GroupBy, ModelClient, StreamId, Usage};
use ipc_proto::router::{End, Finished, RouterClient, Steer, Step, Submission, Task, Typed};
use ipc_proto::scanner::{Crossing, ScannerClient, Subject};
use ipc_proto::web::{FETCH_MS, Fetch, Method, Rule, WebClient};
use ipc_proto::{Blob, List, Text, model};
use kit::Stub;
use manifest::Process;
use std::io::ErrorKind;
use tarpc::client::RpcError;
use tokio::net::UnixStream;

/// Calls `$method`s one after the other, and gives `name=outcome` of each.
macro_rules! each {
    ($client:ident, $stream:expr, $me:expr, $($method:ident($($argument:expr),*);)+) => {{
        match $client::connect($stream, $me).await {
            Err(fault) => format!("no-hello={fault}"),
            Ok((client, driver)) => {
                tokio::task::spawn_local(driver);
                let outcomes = [$(
                    format!("{}={}", stringify!($method), outcome(client.$method(context(), $($argument),*).await)),
                )+];
                outcomes.join(" ")
            }
        }
    }};
}

fn outcome<T>(answer: Result<T, RpcError>) -> &'static str {
    match answer {
        Ok(_) => "answered",
        Err(RpcError::Server(error)) if error.kind == ErrorKind::PermissionDenied => "not-allowed",
        Err(RpcError::Server(_)) => "server-error",
        Err(RpcError::DeadlineExceeded) => "no-answer",
        Err(_) => "connection-lost",
    }
}

/// Calls every method of the process at the other end, and says what came of each on one line.
pub(crate) async fn every_method(me: Process, edge: Held) {
    let callee = edge.peer;
    let Ok(stream) = UnixStream::from_std(edge.stream) else { return };
    let outcomes = match callee {
        Process::Audit => audit(me, stream).await,
        Process::Dialer => each!(DialerClient, stream, me, dial(Text::clip("none.invalid"), 1);),
        Process::Credproxy => credproxy(me, stream).await,
        Process::Scanner => scanner(me, stream).await,
        Process::Memory => memory(me, stream).await,
        Process::Web => web(me, stream).await,
        Process::Model => model(me, stream).await,
        Process::Router => router(me, stream).await,
        Process::Gate => gate(me, stream).await,
        Process::Embedder => {
            each!(EmbedderClient, stream, me,
                embed(Text::clip("local:none"), Text::clip("probe"));
                sound();
            )
        }
        Process::Curator => {
            let list = || curator::Ask::List { state: None };
            each!(CuratorClient, stream, me, curate(Text::clip("probe"), UserId::random(), list());)
        }
        _ => "nobody calls it".to_owned(),
    };
    say(&format_args!("calls {} {outcomes}", callee.name()));
}

async fn audit(me: Process, stream: UnixStream) -> String {
    let event = Event::new(Action::TurnEnded, Result3::Error);
    each!(AuditClient, stream, me,
        append(Serial { life: 1, number: 1 }, event);
        tail(0, 1, 0);
        verify();
        prove(0);
        consistency(1);
        checkpoint();
        stats();
        query(0, Filter::default());
        digest(0);
        rotate_key();
    )
}

async fn credproxy(me: Process, stream: UnixStream) -> String {
    let request = Request {
        verb: Verb::Get,
        url: Text::clip("http://none.invalid/"),
        headers: List::default(),
        body: Blob::default(),
        secret: None,
    };
    let name = || Text::clip("probe");
    each!(CredproxyClient, stream, me,
        request(request);
        next(Reply(0), 1);
        close(Reply(0));
        set(name(), Binding::default(), Lease::default(), Blob::default());
        list();
        remove(name());
        fingerprints(None);
        narrow(name(), Binding::default(), Lease::default());
        revoke(name());
        vault();
        unlock(Blob::default());
        passphrase(Blob::default());
        rotate();
        export(Blob::default());
        try_out(name(), Verb::Get, Text::clip("http://none.invalid/"));
    )
}

async fn scanner(me: Process, stream: UnixStream) -> String {
    each!(ScannerClient, stream, me,
        scan(Subject::at(Crossing::ChannelInput), Text::clip("a harmless text"));
        hold_back(Text::clip("a harmless text"), true, None);
    )
}

async fn memory(me: Process, stream: UnixStream) -> String {
    let scope = || Scope { owner: UserId::random(), area: Area::User };
    each!(MemoryClient, stream, me,
        ask(scope(), memory::Ask::Stats);
        sound();
        waiting(List::default(), 0, 0);
        settle(scope(), memory::Settled::LeftPlain(MemoryId::random()));
    )
}

async fn web(me: Process, stream: UnixStream) -> String {
    let fetch = Fetch {
        url: Text::clip("http://none.invalid/"),
        method: Method::Head,
        headers: List::default(),
        body: None,
        max_bytes: 1,
        timeout_ms: FETCH_MS,
        rule: Rule::default(),
    };
    each!(WebClient, stream, me,
        fetch(fetch);
        search(Text::clip("harmless"), 1);
    )
}

async fn gate(me: Process, stream: UnixStream) -> String {
    let name = || Text::clip("probe");
    each!(GateClient, stream, me,
        models();
        away();
        policies();
        set_policy(name(), Text::default(), name());
        remove_policy(name(), name());
        relay(nobody(), to_model());
        relayed(StreamId(0), 1);
        relay_end(StreamId(0));
        relay_embed(nobody(), to_embed());
        relay_count(nobody(), to_model());
        background(UserId::random(), Label::bottom(), None, to_model());
        background_embed(UserId::random(), Label::bottom(), to_embed());
        memory(nobody(), memory::Ask::Stats);
        find(UserId::random(), Area::User, memory::Question::new(Text::clip("probe"), 1));
        to_order(0);
        ordered(0, Err(Text::clip("probe")));
        recall(UserId::random(), name(), Area::User, memory::BlockAsk::new(None, None, 1));
        try_model(Text::clip("none/none"), name());
        usage(GroupBy::Model, 0);
        budgets();
    )
}

async fn model(me: Process, stream: UnixStream) -> String {
    each!(ModelClient, stream, me,
        start(to_model());
        next(StreamId(0), 1);
        cancel(StreamId(0));
        models();
        embed(to_embed(), None);
        count(to_model());
        usage(GroupBy::Model, 0);
        budgets();
    )
}

/// A request to a model that there is not.
pub(crate) fn to_model() -> model::Request {
    model::Request {
        model: Text::clip("none/none"),
        purpose: model::Purpose::Answer,
        messages: List::default(),
        tools: List::default(),
        max_output: 1,
        temperature: None,
        top_p: None,
        stop: List::default(),
        choice: model::Choice::Auto,
        images: List::default(),
        think: model::Think::default(),
        payer: payer(),
    }
}

fn to_embed() -> model::Embedding {
    model::Embedding {
        model: Text::clip("none/none"),
        texts: List::default(),
        dimensions: None,
        payer: payer(),
    }
}

fn payer() -> model::Payer {
    model::Payer::of(UserId::random())
}

/// Who presents a key that there is not.
const fn nobody() -> Caller {
    Caller::Key(Presented([0; 32]))
}

fn steer() -> Steer {
    Steer { session: Text::clip("probe"), text: Text::clip("probe"), urgent: false, key: Text::clip("probe") }
}

async fn router(me: Process, stream: UnixStream) -> String {
    let (turn, user) = (TurnId::random(), Some(UserId::random()));
    let name = || Text::clip("probe");
    each!(RouterClient, stream, me,
        take(turn, 0);
        step(turn, 0, Step::Reply { text: Text::default(), calls: List::default(), thoughts: List::default() }, Label::bottom(), Label::bottom());
        emit(turn, 0, List::default(), List::default());
        finish(turn, finished());
        ask(turn, question());
        answer_of(turn, ApprovalId::random());
        typed(turn, 0);
        engine_state(turn, name());
        keep_engine_state(turn, name(), Text::clip("probe"), Blob::default());
        words(turn);
        labels(turn);
        holder(nobody());
        api_submit(nobody(), submission());
        api_steer(nobody(), steer());
        api_follow(nobody(), turn, 0, 1);
        api_waits(nobody(), turn);
        api_events(nobody(), 0, 0);
        api_queue(nobody());
        create_key(UserId::random(), name(), name(), KeyScope::default(), Presented([0; 32]));
        keys(user);
        revoke_key(user, name(), name());
        approvals(user, false);
        approval(user, ApprovalId::random());
        answer(user, name(), ApprovalId::random(), [0; 32], Answer::Deny);
        grants(user);
        revoke(user, name(), ApprovalId::random());
        call(user, CallId::random());
        identify(0);
        submit(submission());
        steer(UserId::random(), steer());
        follow(user, turn, 0, 1);
        cancel(user, turn);
        type_in(user, turn, 0, Typed::End);
        sessions(user);
        session(user, Text::clip("probe"));
        end_session(user, Text::clip("probe"));
        messages(user, 1, false);
        message(user, MessageId::random());
        recall(user, MessageId::random());
        requeue(user, name(), MessageId::random(), None);
        pause(user, name(), None, true);
        stop(user, name(), None, false);
        queue(user);
        trace(user, MessageId::random());
        users();
        add_user(name(), UserRole::Guest, List::default(), List::default());
        remove_user(name());
        agents();
        workspaces(user);
        remove_workspace(user, WorkspaceId::random());
        events(0, 0);
    )
}

fn finished() -> Finished {
    Finished {
        end: End::Cancelled,
        text: Text::default(),
        label: Label::bottom(),
        usage: Usage::default(),
        duration_ms: 0,
        attempts: 1,
    }
}

/// A question that nobody asks.
fn question() -> Question {
    Question {
        id: ApprovalId::random(),
        call: CallId::random(),
        tool: Text::clip("probe"),
        action: Text::default(),
        hash: [0; 32],
        scope: [0; 32],
        preview: Text::default(),
        reason: Text::default(),
        policies: List::default(),
        label: Label::bottom(),
        declassifies: false,
        grantable: false,
        owner_only: false,
        expires_ms: 0,
    }
}

/// A message of nobody's.
fn submission() -> Submission {
    Submission {
        user: UserId::random(),
        session: Text::clip("probe"),
        agent: None,
        channel: Text::clip("probe"),
        key: Text::clip("probe"),
        content: Content::text(Text::clip("a harmless text")),
        task: Task::Chat,
        workspace: None,
        workspace_label: None,
    }
}
