//! Bad files and their exact error messages.

use crate::common::{all, check, check_in, machine};
use std::os::unix::fs::PermissionsExt as _;

const TOOLS: &str = "read, write, edit, glob, grep, bash, memory_write, memory_query, memory_timeline, memory_read, memory_list, memory_revise, memory_delete, web_fetch, web_search, http_call, oauth_call, send_file";
const NAME: &str = "1 to 64 letters, digits, `-` and `_`";
const LEVELS: &str = "error, warn, info, debug, trace";
const URL: &str = "`https://HOST[:PORT][/PATH]` in lower case up to and without the path of a method such as \
                   `/chat/completions`, with no user, query or fragment; `http` only to a host that `credproxy.plain_http` lists";
const PUBLIC: &str = "`https` to a public host, or a loopback host that `credproxy.plain_http` lists";

/// The names of the processes that write log lines of their own.
fn actors() -> Vec<&'static str> {
    let actors = manifest::TABLE.iter().map(|row| row.process).filter(|process| manifest::is_actor(*process));
    actors.map(manifest::Process::name).collect()
}

#[test]
fn unknown_keys_are_answered_with_the_nearest_and_all_valid_ones() {
    all(&[
        (
            "[host]\nmoed = 'auto'",
            "2: host.moed: unknown key, nearest is mode; valid: mode, time_zone, uid_base, runner_slots, disk_reserve, inode_reserve, warm_runners",
        ),
        (
            "\n[gatehouse]\nlisten = '127.0.0.1:1'",
            "2: gatehouse: unknown key; valid: version, host, log, user, agent, egress, engine, provider, credproxy, mcp, channel, memory, embedder, router, service, model, budget, web, policy, curator, scheduler, gateway, ingress, audit, tool",
        ),
        (
            "agent.helper.limit.seconds = 1",
            "1: agent.helper.limit: unknown key, nearest is limits; valid: model, prompt_file, tools, profile, browser, browser_isolate, delegates, schedule, own_words, memory, memory_tokens, engine, limits, network",
        ),
        (
            "[dialer]",
            "1: dialer: unknown key; valid: version, host, log, user, agent, egress, engine, provider, credproxy, mcp, channel, memory, embedder, router, service, model, budget, web, policy, curator, scheduler, gateway, ingress, audit, tool",
        ),
    ]);
    let odd = check("[log]\n\"a\\u001b b\" = 1").unwrap_err();
    assert_eq!(odd, "f:2: log.\"a\\u{1b} b\": unknown key; valid: format, level, rotate_bytes, levels\n");
}

#[test]
fn background_work_asks_a_model_that_there_is_and_its_bounds_are_in_order() {
    all(&[(
        "[curator]\nconflict_low = 0.9\nconflict_high = 0.8",
        "2: curator.conflict_low: it is over `conflict_high`; valid: at most `conflict_high`",
    )]);
    let told = check("[curator]\nmodel = 'corp/nothing'").unwrap_err();
    assert!(told.starts_with("f:2: curator.model: there is no model \"corp/nothing\"; valid: "), "{told}");
}

// Holds P12-46.
#[test]
fn jobs_of_an_agent_need_a_scheduler_and_a_profile_that_lets_them_be() {
    all(&[
        (
            "[agent.default]\nprofile = 'standard'\nschedule = true",
            "3: agent.default.schedule: jobs of an agent need `scheduler.enabled` true; valid: false",
        ),
        (
            "[scheduler]\nenabled = true\n[agent.default]\nschedule = true",
            "4: agent.default.schedule: the profile paranoid starts nothing by itself; give the agent the profile standard; valid: false",
        ),
    ]);
    let with = |on: bool| {
        let text =
            format!("scheduler.enabled = true\nagent.default = {{ profile = 'standard', schedule = {on} }}");
        check(&text).unwrap().router.agents
    };
    let tools = |on: bool| with(on).get("default").map(|agent| agent.tools.clone()).unwrap_or_default();
    assert_eq!(tools(true).len(), tools(false).len() + toolset::schedule_tools::NAMES.len());
}

#[test]
fn a_name_of_the_table_of_keys_that_is_no_key_is_unknown() {
    // Paths write `user[]` and `NAME`; a file that does so must not slip through.
    let told = check("['user[]']\nx = 1").unwrap_err();
    assert!(told.starts_with("f:1: user[]: unknown key, nearest is user; valid: "), "{told}");
    assert!(check("[agent.NAME]").unwrap().router.agents.contains_key("NAME"));
}

// Holds P3-12.
#[test]
fn an_address_that_other_machines_reach_is_refused_with_a_remedy() {
    let valid = "valid: `127.0.0.1:PORT` or `[::1]:PORT`, and for other machines a reverse proxy with TLS before gateway.sock";
    for at in ["0.0.0.0:80", "[::]:80", "192.168.1.2:80", "api.example.com:443"] {
        let told = check(&format!("[gateway]\nlisten = '{at}'")).unwrap_err();
        let why = format!("{at} can be reached from other machines, and TLS is not built yet");
        assert_eq!(told, format!("f:2: gateway.listen: {why}; {valid}\n"));
    }
    all(&[
        (
            "[gateway]\nlisten = 'localhost:80'",
            &format!(
                "2: gateway.listen: localhost:80 is not one of the two addresses that can be listened on; {valid}"
            ),
        ),
        (
            "[gateway]\nlisten = '8080'",
            "2: gateway.listen: \"8080\" is not of this form; valid: `127.0.0.1:PORT` or `[::1]:PORT`",
        ),
        (
            "[gateway]\nlisten = '127.0.0.1:80'\nprovider = 'none'",
            "2: gateway.listen: gateway is switched off by `provider`; valid: nothing here",
        ),
    ]);
}

// Holds B-89.
#[test]
fn more_tables_than_there_may_be_are_refused() {
    let agents: String = (0..33).map(|n| format!("[agent.a{n}]\n")).collect();
    assert_eq!(check(&agents).unwrap_err(), "f:1: agent: 33 of them; valid: at most 32\n");
    let provider = |n: usize| {
        let models: String = (0..61).map(|m| format!("models.m{m} = {{}}\n")).collect();
        format!("[provider.p{n}]\nbase_url = 'https://a.b'\n{models}")
    };
    assert_eq!(
        check(&(0..4).map(provider).collect::<String>()).unwrap_err(),
        "f:1: provider: too many models; valid: at most 240 in all\n"
    );
    assert!(check(&(0..3).map(provider).collect::<String>()).is_ok());
}

#[test]
fn wrong_types_are_named_with_what_is_valid() {
    all(&[
        ("host = 1", "1: host: found an integer; valid: a table"),
        ("[host]\nmode = 1", "2: host.mode: found an integer; valid: auto, system, user, flat"),
        ("[host]\nmode.x = 1", "2: host.mode: found a table; valid: auto, system, user, flat"),
        (
            "[host]\nrunner_slots = '4'",
            "2: host.runner_slots: found a string; valid: a whole number from 1 to 192",
        ),
        (
            "[host]\nrunner_slots = 4.0",
            "2: host.runner_slots: found a float; valid: a whole number from 1 to 192",
        ),
        (
            "[memory]\nmax_rows = true",
            "2: memory.max_rows: found a boolean; valid: a whole number from 1 to 10000000",
        ),
        ("[memory]\nprovider = 1979-05-27", "2: memory.provider: found a date; valid: sqlite, none"),
        ("[memory]\nprovider = ['sqlite']", "2: memory.provider: found an array; valid: sqlite, none"),
        ("[user]\nname = 'a'", "1: user: found a table; valid: `[[user]]` before each"),
        ("user = ['a']", "1: user[0]: found a string; valid: a table"),
        ("[agent]\nx = 1", "2: agent.x: found an integer; valid: a table"),
        (
            "[agent.x]\ntools = 'read'",
            &format!("2: agent.x.tools: found a string; valid: a list of at most 64, each one of {TOOLS}"),
        ),
        (
            "[agent.x]\ntools = ['read',\n1]",
            &format!("3: agent.x.tools[1]: found an integer; valid: {TOOLS}"),
        ),
    ]);
}

#[test]
fn numbers_out_of_their_range_are_named_with_the_range() {
    let range = "valid: a whole number from 1 to 192";
    for (written, shown) in [
        ("0", "0"),
        ("193", "193"),
        ("-1", "-1"),
        ("0xC1", "0xC1"),
        ("4_294_967_297", "4294967297"),
        ("99999999999999999999999999999999999999", "999999999999999999999999999999"),
    ] {
        let told = check(&format!("[host]\nrunner_slots = {written}")).unwrap_err();
        assert_eq!(told, format!("f:2: host.runner_slots: {shown} is out of range; {range}\n"));
    }
    assert!(check("[host]\nrunner_slots = 0b1100_0000").is_ok());
    all(&[
        (
            "version = 2",
            "1: version: this file is of the newer version 2, and this program knows version 1; valid: 1",
        ),
        ("version = 0", "1: version: there is no version 0; valid: 1"),
        ("version = '1'", "1: version: found a string; valid: 1"),
        (
            "[host]\nrunner_slots = 4\n[router]\nturns_at_once = 5\nqueue_total = 8\nqueue_per_session = 9",
            "4: router.turns_at_once: 5 is over `host.runner_slots`, which is 4; valid: a whole number from 1 to 4\n\
             6: router.queue_per_session: 9 is over `router.queue_total`, which is 8; valid: a whole number from 1 to 8",
        ),
    ]);
}

#[test]
fn unknown_names_are_answered_with_the_valid_ones() {
    let models = "valid: offline/reader, offline/hijackable, corp/m, scripted/FILE";
    let corp = "[provider.corp]\nbase_url = 'https://a.b'\nmodels.m = {}\n";
    let model = |name: &str| check(&format!("{corp}[agent.x]\nmodel = '{name}'"));
    assert!(model("corp/m").is_ok() && model("scripted/demo.jsonl").is_ok());
    for (name, nearest) in [
        ("offline/raeder", ", nearest is offline/reader"),
        ("corp/n", ", nearest is corp/m"),
        ("crop/m", ", nearest is corp/m"),
        ("m", ""),
        ("scripted/../x", ""),
        ("scripted/", ""),
    ] {
        let told = format!("f:5: agent.x.model: there is no model \"{name}\"{nearest}; {models}\n");
        assert_eq!(model(name).unwrap_err(), told);
    }
    all(&[
        (
            "[log.levels]\ngaet = 'info'",
            &format!(
                "2: log.levels.gaet: \"gaet\" is unknown, nearest is gate; valid: {}",
                actors().join(", ")
            ),
        ),
        ("[log.levels]\ngate = 'loud'", &format!("2: log.levels.gate: \"loud\" is unknown; valid: {LEVELS}")),
        (
            "[agent.x]\ntools = ['bahs']",
            &format!("2: agent.x.tools[0]: \"bahs\" is unknown, nearest is bash; valid: {TOOLS}"),
        ),
        (
            "[agent.x]\nprofile = 'yolo'",
            "2: agent.x.profile: \"yolo\" is unknown; valid: paranoid, standard, power-user",
        ),
        ("[agent.'a b']", &format!("1: agent.\"a b\": \"a b\" is not of this form; valid: {NAME}")),
        (
            "[provider.p]\nbase_url = 'https://a.b'\nmodels.m = {}\nkind = 'opneai'",
            "4: provider.p.kind: \"opneai\" is unknown, nearest is openai; valid: openai, responses, anthropic, ollama, none",
        ),
        ("[provider.scripted]", "1: provider.scripted: this name is built in; valid: any other name"),
    ]);
}

#[test]
fn hosts_that_dialer_would_refuse_are_refused_where_they_are_written() {
    let with = |url: &str, rest: &str| format!("[provider.p]\nmodels.m = {{}}\nbase_url = '{url}'\n{rest}");
    let plain = "[credproxy]\nplain_http = ['127.0.0.1:8080']";
    let cases = [
        (with("http://a.b/v1", ""), format!("3: provider.p.base_url: plain HTTP to a.b:80 would show the key to the network; valid: {PUBLIC}")),
        (with("http://127.0.0.1:8080", ""), format!("3: provider.p.base_url: 127.0.0.1:8080 is this machine, and `credproxy.plain_http` does not list it; valid: {PUBLIC}")),
        (
            with("http://127.0.0.1:8081", plain),
            "3: provider.p.base_url: 127.0.0.1:8081 is this machine, and `credproxy.plain_http` does not list it; \
             valid: `https` to a public host, or one of 127.0.0.1:8080".to_owned(),
        ),
        (with("https://192.168.1.5/v1", ""), format!("3: provider.p.base_url: 192.168.1.5 is a private address, and `credproxy.private_hosts` does not list 192.168.1.5:443; valid: {PUBLIC}")),
        (with("https://u:sk-key@a.b/", ""), format!("3: provider.p.base_url: this is not of the form; valid: {URL}")),
        (with("https://a.b/chat/completions", ""), format!("3: provider.p.base_url: this is not of the form; valid: {URL}")),
        (
            "[credproxy]\nplain_http = ['localhost:80',\n'example.com:80']".to_owned(),
            "3: credproxy.plain_http[1]: \"example.com:80\" is not of this form; valid: `127.0.0.1:PORT`, `[::1]:PORT` or `localhost:PORT`".to_owned(),
        ),
        (
            "[credproxy]\nhosts = ['a.b']".to_owned(),
            "2: credproxy.hosts[0]: \"a.b\" is not of this form; valid: `HOST:PORT` in lower case, such as `api.example.com:443`, and no private address".to_owned(),
        ),
        ("[provider.p]\nmodels.m = {}".to_owned(), format!("1: provider.p.base_url: this key is missing; valid: {URL}")),
        (
            "[provider.p]\nbase_url = 'https://a.b'".to_owned(),
            "1: provider.p.models: no model is named; valid: a table `[provider.p.models.MODEL]` for each model that may be used".to_owned(),
        ),
        (
            with("https://a.b", "models.n.input_usd = 3\nmodels.o.cache_read_usd = 3"),
            "4: provider.p.models.n.input_usd: the prices of input and output belong together; valid: `input_usd` and `output_usd`\n\
             5: provider.p.models.o.cache_read_usd: the prices of input and output belong together; valid: `input_usd` and `output_usd`".to_owned(),
        ),
        (
            with("https://a.b", "models.n = { context = 2048 }\nmodels.o = { context = 2048, output = 4097 }"),
            "4: provider.p.models.n.context: an output of 4096 does not fit the context of 2048; valid: `output` at most `context`\n\
             5: provider.p.models.o.output: an output of 4097 does not fit the context of 2048; valid: `output` at most `context`".to_owned(),
        ),
    ];
    for (text, report) in &cases {
        all(&[(text, report)]);
    }
    assert!(check(&with("http://127.0.0.1:8080/v1", plain)).is_ok());
    assert!(check(&with("https://api.example.com/v1", "")).is_ok());
}

#[test]
fn a_search_that_cannot_be_made_is_refused_where_it_is_written() {
    let secret = "the name of a secret as `agentctl cred set NAME` keeps it (never the secret itself): 1 to 64 letters, \
                  digits, `-`, `_` and `.`";
    let url = "`https://HOST[:PORT][/PATH]` or `http://HOST[:PORT][/PATH]` in lower case, with no user, query or fragment";
    let with = |rest: &str| format!("[web.search]\nprovider = {rest}");
    let cases = [
        (with("'brave'"), format!("2: web.search.secret: this key is missing: brave needs a key; valid: {secret}")),
        (
            with("'tavily'\nsecret = 's'\nbase_url = 'http://a.b'"),
            "4: web.search.base_url: plain HTTP to a.b:80 would show the key to the network; valid: `https` to a public host".to_owned(),
        ),
        (with("'searxng'"), format!("2: web.search.base_url: this key is missing; valid: {url}")),
        (
            with("'searxng'\nbase_url = 'http://127.0.0.1:8888/'\nsecret = 's'"),
            "3: web.search.base_url: 127.0.0.1:8888 is not public, and `web.private_hosts` does not list it; valid: a public host, or one of `web.private_hosts`\n\
             4: web.search.secret: searxng needs no key; valid: nothing here".to_owned(),
        ),
        (with("'searxng'\nbase_url = 'https://u:p@a.b'"), format!("3: web.search.base_url: this is not of the form; valid: {url}")),
        (with("'google'"), "2: web.search.provider: \"google\" is unknown; valid: none, brave, tavily, searxng".to_owned()),
    ];
    for (text, report) in &cases {
        all(&[(text, report)]);
    }
    assert!(
        check(&with(
            "'searxng'\nbase_url = 'http://127.0.0.1:8888'\n[web]\nprivate_hosts = ['127.0.0.1:8888']"
        ))
        .is_ok()
    );
}

#[test]
fn a_capability_that_does_not_fit_is_refused_where_it_is_written() {
    all(&[
        (
            "[tool.t]\neffect = 'steal'",
            "2: tool.t.effect: \"steal\" is unknown; valid: read, write, send, pay, delete",
        ),
        ("[tool.t]\nirreversible = 'yes'", "2: tool.t.irreversible: found a string; valid: true or false"),
        (
            "[tool.t.data]\ncan_leak_data = 1",
            "2: tool.t.data.can_leak_data: found an integer; valid: true or false",
        ),
        (
            "[tool.t.approval]\ndanger_patterns = ['ok',\n'(']",
            "3: tool.t.approval.danger_patterns[1]: \"(\" is not of this form; valid: a regular expression of 1 to 1024 bytes, without look-around and back-references",
        ),
        (
            &format!(
                "[tool.t.approval]\ndanger_patterns = [{}]",
                r"'\w{20}'".to_owned() + &r", '\d\w{20}'".repeat(40)
            ),
            "2: tool.t.approval.danger_patterns: together these patterns are too large; valid: fewer or simpler ones",
        ),
        (
            "[tool.t.network]\nallowed_hosts = ['A.b:80']\nblocked_ports = [0]",
            "2: tool.t.network.allowed_hosts[0]: \"A.b:80\" is not of this form; valid: a host in lower case without a port, `*` standing for any characters, such as `*.example.com`\n\
             3: tool.t.network.blocked_ports[0]: 0 is out of range; valid: a whole number from 1 to 65535",
        ),
        (
            "[tool.t.execution]\nblocked_paths = ['{a']",
            "2: tool.t.execution.blocked_paths[0]: \"{a\" is not of this form; valid: a path in which `*` stands for anything, `?` for one character, `[...]` for one of several and `{a,b}` for either, of 1 to 1024 bytes",
        ),
        (
            "[tool.t]\nrelevant_args = ['to']\nrecord_args = ['amount']",
            "3: tool.t.record_args[0]: amount is not a relevant argument; valid: one of `relevant_args`",
        ),
        (
            "[tool.t]\napprovals.level = 'ask'",
            "2: tool.t.approvals: unknown key, nearest is approval; valid: effect, relevant_args, record_args, irreversible, approval, data, network, execution, audit, labels",
        ),
        (
            "[tool.'a b']",
            "1: tool.\"a b\": \"a b\" is not of this form; valid: 1 to 64 letters, digits, `-`, `_` and `.`",
        ),
        ("[policy]\ncontacts = ['a', 'a']", "2: policy.contacts[1]: is listed twice; valid: each value once"),
    ]);
}

#[test]
fn what_could_be_a_secret_is_never_shown() {
    let told = check(
        "[provider.p]\nsecret = 'sk-ant api03'\nbase_url = 'https://x:sk-ant api03@a.b'\nmodels.m = {}",
    )
    .unwrap_err();
    assert_eq!(told.lines().count(), 2);
    assert!(!told.contains("sk-ant"), "{told}");
}

#[test]
fn what_needs_a_process_that_is_switched_off_is_refused() {
    let off = format!("{}, web_fetch, web_search", TOOLS.split(", memory").next().unwrap());
    let unconnected = TOOLS.split(", web").next().unwrap();
    let keyless = TOOLS.split(", http_call").next().unwrap();
    all(&[
        (
            "[memory]\nprovider='none'\n[agent.x]\ntools=['read','memory_read']",
            &format!(
                "4: agent.x.tools[1]: memory_read needs a memory, and `memory.provider` is \"none\"; valid: {off}"
            ),
        ),
        (
            "[memory]\nprovider='none'\n[agent.x]\nmemory=true",
            "4: agent.x.memory: needs a memory, and `memory.provider` is \"none\"; valid: false",
        ),
        (
            "[web]\nprovider='none'\n[agent.x]\ntools=['web_fetch']",
            &format!(
                "4: agent.x.tools[0]: web_fetch needs the web, and `web.provider` or `credproxy.provider` is \"none\"; valid: {unconnected}"
            ),
        ),
        (
            "[credproxy]\nprovider='none'\n[web]\nprovider='dialer'\n[web.search]\nprovider='brave'\nsecret='s'",
            "4: web.provider: the web needs dialer, which `credproxy.provider` set to \"none\" takes away; valid: none\n\
             6: web.search.provider: a search needs the web, which is switched off; valid: none",
        ),
        (
            "[agent.x]\ntools=['read','read']",
            &format!("2: agent.x.tools[1]: read is listed twice; valid: {keyless}"),
        ),
        (
            "[credproxy]\nprovider='none'\n[provider.p]\nbase_url='https://a.b'\nmodels.m={}\n[agent.x]\nmodel='p/m'",
            "3: provider.p.kind: a provider needs credproxy, and `credproxy.provider` is \"none\"; valid: none",
        ),
        (
            "[provider.p]\nkind='none'\nbase_url='https://a.b'\nmodels.m={}\n[agent.x]\nmodel='p/m'",
            "6: agent.x.model: there is no model \"p/m\"; valid: offline/reader, offline/hijackable, scripted/FILE",
        ),
    ]);
}

#[test]
fn a_prompt_file_that_cannot_be_read_is_told_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(folder.path().join("dir")).unwrap();
    std::fs::write(folder.path().join("bin"), b"\xff").unwrap();
    let valid = "valid: a readable file of at most 61440 bytes of text";
    for (path, what) in [
        ("none.md", "cannot be read: No such file or directory (os error 2)"),
        ("dir", "is not a regular file"),
        ("bin", "is not UTF-8 text without control characters (byte 0)"),
    ] {
        let text = format!("[agent.x]\nprompt_file = '{path}'");
        let told = check_in(folder.path(), text.as_bytes(), &machine()).unwrap_err();
        assert_eq!(told, format!("f:2: agent.x.prompt_file: \"{path}\" {what}; {valid}\n"));
    }
}

#[test]
fn broken_toml_is_reported_in_every_place_and_the_rest_is_checked_as_well() {
    all(&[
        (
            "[host]\nmode = auto\nrunner_slots = 0\n[log\nformat = 'x'\n[memory]\nprovider = 'x'\nprovider = 'none'",
            "2: syntax: string values must be quoted, expected literal string\n\
             3: host.runner_slots: 0 is out of range; valid: a whole number from 1 to 192\n\
             4: syntax: unclosed table, expected `]`\n\
             7: memory.provider: \"x\" is unknown; valid: sqlite, none\n\
             8: syntax: duplicate key",
        ),
        ("a = [", "1: syntax: unclosed array, expected `]`"),
    ]);
    let told = check_in("/".as_ref(), b"[host]\n#\n# \xff", &machine()).unwrap_err();
    assert_eq!(told, "f:3: syntax: this is not UTF-8 text\n");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let sections = [
        "version = 3",
        "[host]",
        "mode = 1",
        "[log]",
        "level = 'x'",
        "[[user]]",
        "role = 'x'",
        "[agent.x]",
        "model = 'x'",
        "tools = ['x', 'y']",
        "[provider.p]",
        "base_url = 'x'",
        "[memory]",
        "x = 1",
    ];
    let told = check(&sections.join("\n")).unwrap_err();
    let lines: Vec<_> =
        told.lines().map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "f:1 version",
        "f:3 host.mode",
        "f:5 log.level",
        "f:6 user[0].name",
        "f:7 user[0].role",
        "f:9 agent.x.model",
        "f:10 agent.x.tools[0]",
        "f:10 agent.x.tools[1]",
        "f:11 provider.p.models",
        "f:12 provider.p.base_url",
        "f:14 memory.x",
    ];
    assert_eq!(lines, expected);
}

// Holds P6-22.
#[test]
fn a_record_that_keeps_grave_entries_shorter_or_never_alerts_is_refused() {
    all(&[
        (
            "[audit.retention_days]\ndebug = 40\nwarning = 30\nerror = 20",
            "3: audit.retention_days.warning: 30 is less than `audit.retention_days.info`, which is 40; valid: a whole number from 40 to 36500\n\
             4: audit.retention_days.error: 20 is less than `audit.retention_days.warning`, which is 40; valid: a whole number from 40 to 36500",
        ),
        (
            "[audit.retention_days]\ncritical = 30",
            "2: audit.retention_days.critical: unknown key; valid: debug, info, warning, error, auth, config",
        ),
        (
            "[audit.alerts.auth_failures]\nnumber = 0",
            "2: audit.alerts.auth_failures.number: 0 is out of range; valid: a whole number from 1 to 1000",
        ),
        (
            "[audit.alerts.auth_failure]\nnumber = 1",
            "1: audit.alerts.auth_failure: unknown key, nearest is auth_failures; valid: auth_failures, network_refusals, secret_misdirected, attest_drift, quarantined, disk_low, job_failed",
        ),
        (
            "[audit.checkpoint]\nentries = 0\nms = 1",
            "2: audit.checkpoint.entries: 0 is out of range; valid: a whole number from 1 to 65536\n\
             3: audit.checkpoint.ms: 1 is out of range; valid: a whole number from 50 to 60000",
        ),
    ]);
    let kept = check("audit.retention_days.debug = 40").unwrap().audit.retention_days;
    assert_eq!((kept.debug, kept.info, kept.warning, kept.error), (40, 40, 90, 365));
}
