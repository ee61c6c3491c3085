//! Calls over a pair of queues: the client is the one under test, the server is played by hand.

use super::stub::Stub;
use super::*;
use futures::{FutureExt, SinkExt, StreamExt, future};
use std::time::{Duration, Instant};
use tarpc::transport::channel::{UnboundedChannel, unbounded};
use tarpc::{ServerError, context};

type Server = UnboundedChannel<ClientMessage<String>, Response<String>>;

/// A client whose dispatch runs, and its server.
fn connected(config: Config) -> (Channel<String, String>, Server, tokio::task::JoinHandle<()>) {
    let (near, far) = unbounded();
    let NewClient { client, dispatch } = new(config, near);
    (client, far, tokio::task::spawn_local(dispatch.map(drop)))
}

fn run(test: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

async fn request(server: &mut Server) -> (u64, String) {
    match server.next().await.unwrap().unwrap() {
        ClientMessage::Request(request) => (request.id, request.message),
        other => panic!("no request: {other:?}"),
    }
}

async fn answer(server: &mut Server, request_id: u64, text: &str) {
    server.send(Response { request_id, message: Ok(text.to_owned()) }).await.unwrap();
}

fn soon(seconds: u64) -> context::Context {
    let mut context = context::current();
    context.deadline = Instant::now() + Duration::from_secs(seconds);
    context
}

fn call<'a>(
    client: &'a Channel<String, String>,
    text: &str,
) -> impl Future<Output = Result<String, RpcError>> + use<'a> {
    client.call(soon(60), text.to_owned())
}

#[test]
fn answers_find_their_calls_in_whatever_order_they_come() {
    run(async {
        let (client, mut server, _dispatch) = connected(Config::default());
        let calls = future::join_all((0..9).map(|number| client.call(soon(60), number.to_string())));
        let serve = async {
            let mut asked = Vec::new();
            for _ in 0..9 {
                asked.push(request(&mut server).await);
            }
            for (id, text) in asked.iter().rev() {
                answer(&mut server, *id, text).await;
            }
        };
        let (answers, ()) = future::join(calls, serve).await;
        let answers: Vec<String> = answers.into_iter().map(Result::unwrap).collect();
        assert_eq!(answers, (0..9).map(|number| number.to_string()).collect::<Vec<_>>());
    });
}

#[test]
fn a_call_that_is_given_up_is_cancelled_and_its_late_answer_is_dropped() {
    run(async {
        let (client, mut server, _dispatch) = connected(Config::default());
        let mut first = Box::pin(call(&client, "first"));
        assert!(future::poll_immediate(first.as_mut()).await.is_none());
        let (late, _) = request(&mut server).await;
        drop(first);
        let cancelled = server.next().await.unwrap().unwrap();
        assert!(matches!(cancelled, ClientMessage::Cancel { request_id, .. } if request_id == late));
        let serve = async {
            let (id, _) = request(&mut server).await;
            assert_ne!(id, late);
            answer(&mut server, late, "late").await;
            answer(&mut server, id, "in time").await;
        };
        let (second, ()) = future::join(call(&client, "second"), serve).await;
        assert_eq!(second.unwrap(), "in time");
    });
}

#[test]
fn a_call_that_is_given_up_before_it_was_written_is_never_written() {
    run(async {
        let (client, mut server, _dispatch) = connected(Config::default());
        assert!(future::poll_immediate(Box::pin(call(&client, "never"))).await.is_none());
        let serve = async {
            let (id, text) = request(&mut server).await;
            answer(&mut server, id, &text).await;
        };
        let (answer, ()) = future::join(call(&client, "then"), serve).await;
        assert_eq!(answer.unwrap(), "then");
    });
}

#[test]
fn a_deadline_ends_its_call_and_no_other() {
    run(async {
        let (client, mut server, _dispatch) = connected(Config::default());
        let (long, short) = (call(&client, "long"), client.call(soon(2), "short".to_owned()));
        let serve = async {
            let (id, _) = request(&mut server).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            answer(&mut server, id, "late").await;
        };
        let (long, short, ()) = future::join3(long, short, serve).await;
        assert_eq!(long.unwrap(), "late");
        assert!(matches!(short, Err(RpcError::DeadlineExceeded)));
    });
}

#[test]
fn more_calls_than_may_be_under_way_are_made_one_after_the_other() {
    run(async {
        let mut config = Config::default();
        (config.max_in_flight_requests, config.pending_request_buffer) = (3, 2);
        let (client, mut server, _dispatch) = connected(config);
        let calls = future::join_all((0..50).map(|number| client.call(soon(60), number.to_string())));
        let serve = async {
            let mut left: usize = 50;
            while left > 0 {
                let mut asked = vec![request(&mut server).await];
                tokio::task::yield_now().await;
                while let Some(Some(Ok(ClientMessage::Request(more)))) = server.next().now_or_never() {
                    asked.push((more.id, more.message));
                }
                assert!(asked.len() <= 3, "{asked:?}");
                for (id, text) in &asked {
                    answer(&mut server, *id, text).await;
                }
                left -= asked.len();
            }
        };
        let (answers, ()) = future::join(calls, serve).await;
        let served = answers.into_iter().filter(Result::is_ok).count();
        assert_eq!(served, 50);
    });
}

#[test]
fn the_end_of_the_connection_ends_every_call_and_every_later_one() {
    run(async {
        let (client, mut server, dispatch) = connected(Config::default());
        let end = async {
            request(&mut server).await;
            drop(server);
        };
        let (ended, ()) = future::join(call(&client, "before"), end).await;
        assert!(matches!(ended, Err(RpcError::Shutdown)));
        dispatch.await.unwrap();
        assert!(matches!(call(&client, "after").await, Err(RpcError::Shutdown)));
    });
}

#[test]
fn a_server_s_refusal_is_told_as_that() {
    run(async {
        let (client, mut server, _dispatch) = connected(Config::default());
        let serve = async {
            let (request_id, _) = request(&mut server).await;
            let message = Err(ServerError::new(std::io::ErrorKind::PermissionDenied, String::new()));
            server.send(Response { request_id, message }).await.unwrap();
        };
        let (refused, ()) = future::join(call(&client, "may I"), serve).await;
        let kind = |error| if let RpcError::Server(error) = error { Some(error.kind) } else { None };
        assert_eq!(refused.map_err(kind), Err(Some(std::io::ErrorKind::PermissionDenied)));
    });
}

#[test]
fn the_connection_ends_with_the_last_channel() {
    run(async {
        let (client, mut server, dispatch) = connected(Config::default());
        let other = client.clone();
        drop(client);
        tokio::task::yield_now().await;
        assert!(!dispatch.is_finished());
        drop(other);
        dispatch.await.unwrap();
        assert!(server.next().await.is_none());
    });
}
