//! Secrets that are bound to hosts, verbs, paths and places: where they go, and that they go nowhere else.

use super::*;

// Holds P4-28.
#[test]
fn every_caller_has_its_own_secrets_put_in_and_no_others() {
    run(async {
        let lab = Lab::new("").await;
        let with = |name: &str| Request {
            secret: Some(Placement::header(name, "Authorization", "")),
            ..get("https://plain.test/")
        };
        let callers = [(Process::Web, "search"), (Process::Model, "key"), (Process::Gate, "mail")];
        for (caller, own) in callers {
            for (_, name) in callers {
                let may = if name == own { Ok(()) } else { Err(CredError::NotBound) };
                assert_eq!(lab.proxy.admit(caller, &with(name)).await, may, "{caller:?} {name}");
            }
            let may = if caller == Process::Web { Err(CredError::NotBound) } else { Ok(()) };
            assert_eq!(lab.proxy.admit(caller, &get("https://plain.test/")).await, may, "{caller:?}");
        }
        let refused = lab.log();
        assert_eq!(refused.len(), 7);
        assert!(refused.iter().all(|line| line.starts_with("SecretMisdirected Blocked")), "{refused:?}");
        let unset = Proxy { shares: Shares::default(), ..Lab::new("").await.proxy };
        assert_eq!(unset.admit(Process::Web, &with("search")).await, Err(CredError::NotBound));
    });
}

/// Every place that a secret can be put into, with a request that has it there.
fn everywhere(host: &str) -> Vec<Request> {
    let json = r#"{"token":"__cordon_secret__"}"#;
    let kinds =
        [("application/json", json), ("application/x-www-form-urlencoded", "token=__cordon_secret__")];
    let placed = |path: &str, at: At| Request {
        secret: Some(Placement { secret: text("key"), at }),
        ..get(&format!("http://{host}{path}"))
    };
    let mut all = vec![
        with_key(&format!("http://{host}/")),
        placed("/?key=__cordon_secret__", At::Query { name: text("key") }),
        placed("/bot__cordon_secret__/", At::Segment),
    ];
    for (kind, body) in kinds {
        let headers = List::new([Header { name: text("content-type"), value: text(kind) }]).unwrap();
        let at = At::Field { name: text("token") };
        let (verb, body) = (Verb::Post, Blob::new(body).unwrap());
        all.push(Request { verb, headers, body, ..placed("/", at) });
    }
    all
}

/// A binding to this host at every place that [`everywhere`] has.
fn bound_everywhere(host: &str) -> Binding {
    let at = [
        Placement::header("key", "Authorization", "Bearer ").at,
        At::Query { name: text("key") },
        At::Segment,
        At::Field { name: text("token") },
    ];
    Binding { at: List::new(at).unwrap(), ..hosts(&[host]) }
}

// Holds P4-22.
#[test]
fn a_set_that_whoever_carried_it_sends_again_changes_nothing() {
    run(async {
        let (lab, server) = Lab::with(whole("ok")).await;
        let binding = hosts(&["plain.test"]);
        let lease = Lease::default();
        let sealed = seal(lab.folder.path(), "key", &binding, lease, "old-value-0123");
        let send = || lab.proxy.set(text("key"), binding.clone(), lease, Blob::new(sealed.clone()).unwrap());
        send().await.unwrap();
        lab.bind("key", binding.clone(), "new-value-4567").await.unwrap();
        assert_eq!(send().await, Err(CredError::NotSealed));
        lab.proxy.remove(text("key")).await.unwrap();
        assert_eq!(send().await, Err(CredError::NotSealed), "nor does it bring a secret back");
        lab.bind("key", binding.clone(), "new-value-4567").await.unwrap();
        lab.request(with_key("http://plain.test/")).await.unwrap();
        assert!(request_of(&server).contains("new-value-4567"));
    });
}

// Holds P4-12.
#[test]
fn a_secret_goes_to_every_bound_place_and_to_its_bound_host_alone() {
    run(async {
        let (lab, server) = Lab::with(persistent("ok")).await;
        lab.bind("key", bound_everywhere("plain.test"), "plain-value-1").await.unwrap();
        for request in everywhere("plain.test") {
            lab.request(request).await.unwrap();
            assert!(request_of(&server).contains("plain-value-1"));
        }
        lab.fake.log.take();
        let refused = everywhere("127.0.0.1");
        for request in &refused {
            assert_eq!(lab.request(request.clone()).await, Err(CredError::NotBound), "{}", &*request.url);
        }
        assert_eq!(lab.log(), vec!["SecretMisdirected Blocked key"; refused.len()]);
        assert!(server.seen.try_recv().is_err());
    });
}

// Holds P4-12.
#[test]
fn a_secret_goes_by_no_verb_path_or_place_that_it_is_not_bound_to() {
    run(async {
        let (lab, server) = Lab::with(whole("ok")).await;
        let narrow = [
            Binding { verbs: List::new([Verb::Delete]).unwrap(), ..bound_everywhere("plain.test") },
            Binding { paths: List::new([text("/v1")]).unwrap(), ..bound_everywhere("plain.test") },
            Binding { at: List::new([At::Query { name: text("x") }]).unwrap(), ..hosts(&["plain.test"]) },
        ];
        for binding in narrow {
            lab.bind("key", binding.clone(), VALUE).await.unwrap();
            lab.fake.log.take();
            for request in everywhere("plain.test") {
                assert_eq!(lab.request(request).await, Err(CredError::NotBound), "{binding:?}");
            }
            assert_eq!(lab.log(), vec!["SecretMisdirected Blocked key"; 5], "{binding:?}");
        }
        assert!(server.seen.try_recv().is_err());
    });
}

/// The mark as somebody could try to slip it past: as it is, encoded, and in two pieces at every offset.
fn disguises() -> Vec<String> {
    let mark = PLACEHOLDER;
    let percent: String = mark.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let escaped: String = mark.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();
    let base64 = base64::engine::general_purpose::STANDARD.encode(mark);
    let halves = (1..mark.len()).flat_map(|at| {
        let (first, rest) = mark.split_at(at);
        [format!("{first}\",\"{rest}"), format!("{first}\" + \"{rest}"), format!("{first}%5f{rest}")]
    });
    [mark.to_owned(), percent, escaped, base64].into_iter().chain(halves).collect()
}

// Holds P4-13.
#[test]
fn the_mark_of_a_secret_in_any_disguise_brings_it_to_no_other_host() {
    run(async {
        let (lab, server) = Lab::with(persistent("ok")).await;
        lab.set("other", &["127.0.0.1"], "the-other-value").await.unwrap();
        let headers =
            List::new([Header { name: text("content-type"), value: text("application/json") }]).unwrap();
        for disguise in disguises() {
            let request = Request {
                verb: Verb::Post,
                headers: headers.clone(),
                body: Blob::new(format!("{{\"token\":[\"{disguise}\"]}}")).unwrap(),
                secret: Some(Placement::header("other", "X-Key", "")),
                ..get("http://127.0.0.1/")
            };
            let head = lab.request(request).await.unwrap();
            lab.body(&head).await.unwrap();
            let sent = request_of(&server);
            assert!(sent.contains("the-other-value") && sent.contains(&disguise), "{sent}");
            assert!(!sent.contains(VALUE) && !sent.contains("sk-live"), "{sent}");
            let in_query = format!("http://127.0.0.1/?q={}", disguise.replace(['"', ' ', '\\'], "%22"));
            if let Ok(head) = lab.request(Request { secret: None, ..get(&in_query) }).await {
                lab.body(&head).await.unwrap();
                assert!(!request_of(&server).contains("sk-live"));
            }
        }
    });
}
