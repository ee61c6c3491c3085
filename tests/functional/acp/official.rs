//! The official client of the protocol, in Rust, with `agentctl acp`.

use super::{SUPERVISED, folder};
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, ContentBlock, InitializeRequest, ListSessionsRequest,
    LoadSessionRequest, NewSessionRequest, PermissionOptionKind, PromptRequest, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, ResumeSessionRequest, SelectedPermissionOutcome,
    SessionNotification, SessionUpdate, SetSessionConfigOptionRequest, StopReason,
};
use agent_client_protocol::{Agent, Client, ConnectTo, Lines};
use futures::channel::mpsc;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use tests::{Host, Setup};

/// All that an editor was told.
type Told = Arc<Mutex<Vec<SessionUpdate>>>;

/// The pipes of `agentctl acp`, as the client takes them.
fn transport(child: &mut Child) -> impl ConnectTo<Client> {
    let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, receiver) = mpsc::unbounded();
    thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.unbounded_send(line).is_err() {
                break;
            }
        }
    });
    let sink = futures::sink::unfold(input, |mut input, line: String| async move {
        writeln!(input, "{line}")?;
        input.flush()?;
        Ok::<_, io::Error>(input)
    });
    Lines::new(Box::pin(sink), receiver)
}

/// The first option of this kind.
fn choose(request: &RequestPermissionRequest, kind: PermissionOptionKind) -> RequestPermissionOutcome {
    let option = request.options.iter().find(|option| option.kind == kind).unwrap();
    RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
}

/// Runs a client that allows everything, once; gives what it was told.
fn client(
    host: &Host,
    words: &[&str],
    body: impl AsyncFnOnce(ConnectionTo<Agent>, Told) -> agent_client_protocol::Result<()> + Send,
) {
    let mut child = host
        .command(&[&["acp"], words].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told = Told::default();
    let tells = told.clone();
    let served = Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _connection| {
                tells.lock().unwrap().push(notification.update);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _connection| {
                let outcome = choose(&request, PermissionOptionKind::AllowOnce);
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(transport(&mut child), async move |connection: ConnectionTo<Agent>| {
            body(connection, told).await
        });
    futures::executor::block_on(served).unwrap();
    let _ = child.wait();
}

fn heard(told: &Told) -> String {
    let told = told.lock().unwrap();
    let text = |update: &SessionUpdate| match update {
        SessionUpdate::AgentMessageChunk(chunk) => match &chunk.content {
            ContentBlock::Text(text) => Some(text.text.clone()),
            _ => None,
        },
        _ => None,
    };
    told.iter().filter_map(text).collect()
}

#[test]
fn the_official_client_opens_prompts_lists_loads_resumes_and_closes() {
    let config = format!("{SUPERVISED}[agent.second]\nmodel = \"offline/reader\"\n");
    let (host, folder) = (Setup::default().config(&config).start(), folder());
    let cwd = folder.path().to_owned();
    client(&host, &[], async move |editor, told| {
        let hello = InitializeRequest::new(ProtocolVersion::V1);
        let hello = editor.send_request(hello).block_task().await?;
        assert_eq!(hello.protocol_version, ProtocolVersion::V1);
        assert!(hello.agent_capabilities.load_session);
        let opened = editor.send_request(NewSessionRequest::new(&cwd)).block_task().await?;
        let id = opened.session_id;
        assert_eq!(opened.config_options.unwrap_or_default().len(), 2);
        let set = SetSessionConfigOptionRequest::new(id.clone(), "agent", "second");
        assert_eq!(editor.send_request(set).block_task().await?.config_options.len(), 2);
        let say = |text: &str| PromptRequest::new(id.clone(), vec![ContentBlock::from(text)]);
        let answered = editor.send_request(say("run: cat notes.txt")).block_task().await?;
        assert_eq!(answered.stop_reason, StopReason::EndTurn);
        assert!(heard(&told).contains("harbour office"), "{told:?}");
        assert!(told.lock().unwrap().iter().any(|it| matches!(it, SessionUpdate::ToolCall(_))), "{told:?}");
        let listed = editor.send_request(ListSessionsRequest::new().cwd(cwd.clone())).block_task().await?;
        assert_eq!(listed.sessions.iter().map(|it| &it.session_id).collect::<Vec<_>>(), [&id]);
        editor.send_request(CloseSessionRequest::new(id.clone())).block_task().await?;
        told.lock().unwrap().clear();
        editor.send_request(LoadSessionRequest::new(id.clone(), &cwd)).block_task().await?;
        assert!(
            told.lock().unwrap().iter().any(|it| matches!(it, SessionUpdate::UserMessageChunk(_))),
            "{told:?}"
        );
        editor.send_request(ResumeSessionRequest::new(id.clone(), &cwd)).block_task().await?;
        let other = SetSessionConfigOptionRequest::new(id.clone(), "agent", "default");
        assert!(editor.send_request(other).block_task().await.is_err(), "a session keeps its agent");
        let late = editor.send_request(say("run: sleep 60"));
        editor.send_notification(CancelNotification::new(id.clone()))?;
        assert_eq!(late.block_task().await?.stop_reason, StopReason::Cancelled);
        Ok(())
    });
}
