//! Each key of the table is read and changes something.

use crate::common::{MAILBOX, another_value, check_in, machine, mailbox, whatsapp};
use crate::plans::model;
use agentd_config::keys;
use std::os::unix::fs::PermissionsExt;

// Holds B-45.
#[test]
#[expect(clippy::too_many_lines, reason = "a line for each key")]
fn every_key_of_the_table_is_read_and_changes_something() {
    // Not below /tmp, and open to all: processes with ids of their own are to read the model.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    model::write(&folder.path().join("m"), 7).unwrap();
    std::fs::write(folder.path().join("p"), "x").unwrap();
    let provider = "provider.q = { base_url = 'https://a.b', models.m = {} }\n";
    let cases = [
        ("host.mode", "host.mode = 'flat'"),
        ("host.time_zone", "host.time_zone = 'Europe/Berlin'"),
        ("agent.NAME.network.mode", "agent.default.network.mode = 'proxy'"),
        ("agent.NAME.network.allow", "agent.default.network = { mode = 'proxy', allow = ['a.b:443'] }"),
        ("agent.NAME.network.packages", "agent.default.network = { mode = 'proxy', packages = ['pypi'] }"),
        ("agent.NAME.network.opaque", "agent.default.network = { mode = 'proxy', opaque = ['a.b:443'] }"),
        ("egress.private_hosts", "egress.private_hosts = ['a.lan:443']"),
        (
            "egress.authorities_file",
            "agent.default.network.mode = 'proxy'\negress.authorities_file = '/etc/hostname'",
        ),
        ("host.uid_base", "host.uid_base = 900000"),
        ("host.runner_slots", "host.runner_slots = 9"),
        ("log.levels.PROCESS", "log.levels.audit = 'debug'"),
        ("user[].name", "user = [{ name = 'b', role = 'user' }]"),
        ("user[].role", "user = [{ name = 'a', role = 'guest' }]"),
        ("user[].uids", "user = [{ name = 'a', role = 'user', uids = [1] }]"),
        ("user[].channels", "user = [{ name = 'a', role = 'user', channels = ['t:1'] }]"),
        ("agent.NAME.model", "agent.default.model = 'offline/hijackable'"),
        ("agent.NAME.prompt_file", "agent.default.prompt_file = 'p'"),
        ("agent.NAME.tools", "agent.default.tools = []"),
        ("agent.NAME.profile", "agent.default.profile = 'standard'"),
        ("agent.NAME.browser", "agent.default.browser = true"),
        ("agent.NAME.browser_isolate", "agent.default.browser_isolate = false"),
        ("agent.NAME.delegates", "agent.default.delegates = [\"default\"]"),
        (
            "agent.NAME.schedule",
            "scheduler.enabled = true\nagent.default = { profile = \"standard\", schedule = true }",
        ),
        ("agent.NAME.own_words", "agent.default.own_words = 'block'"),
        ("agent.NAME.memory", "agent.default.memory = true"),
        ("agent.NAME.memory_tokens", "agent.default.memory_tokens = 500"),
        ("agent.NAME.engine", "agent.default.engine = 'codex'"),
        ("agent.NAME.limits.tool_calls", "agent.default.limits.tool_calls = 1"),
        ("agent.NAME.limits.tool_failures", "agent.default.limits.tool_failures = 1"),
        ("agent.NAME.limits.seconds", "agent.default.limits.seconds = 1"),
        ("agent.NAME.limits.cpu_seconds", "agent.default.limits.cpu_seconds = 1"),
        ("agent.NAME.limits.run_seconds", "agent.default.limits.run_seconds = 1"),
        ("agent.NAME.limits.run_cpu_seconds", "agent.default.limits.run_cpu_seconds = 1"),
        (
            "agent.NAME.limits.idle_seconds",
            "agent.default = { engine = 'codex', limits = { idle_seconds = 7 } }",
        ),
        ("agent.NAME.limits.output_tokens", "agent.default.limits.output_tokens = 256"),
        ("agent.NAME.limits.model_calls_per_hour", "agent.default.limits.model_calls_per_hour = 1"),
        ("agent.NAME.limits.same_call", "agent.default.limits.same_call = 1"),
        ("agent.NAME.limits.day_usd", "agent.default.limits.day_usd = 1"),
        ("engine.NAME.command", "agent.default.engine = 'e'\nengine.e.command = ['y']"),
        (
            "engine.NAME.resume",
            "agent.default.engine = 'e'\nengine.e = { command = ['x'], resume = ['{token}'] }",
        ),
        (
            "engine.NAME.format",
            "agent.default.engine = 'e'\nengine.e = { command = ['x'], format = 'codex' }",
        ),
        (
            "engine.NAME.input",
            "agent.default.engine = 'e'\nengine.e = { command = ['x'], format = 'claude-code', input = 'stream-json' }",
        ),
        (
            "engine.NAME.profile",
            "agent.default.engine = 'e'\nengine.e = { command = ['x'], profile = 'codex' }",
        ),
        ("engine.NAME.keeps", "agent.default.engine = 'e'\nengine.e = { command = ['x'], keeps = ['.x/y'] }"),
        ("provider.NAME.kind", "provider.p = { base_url = 'https://a.b', models.m = {}, kind = 'none' }"),
        ("provider.NAME.base_url", "provider.p = { base_url = 'https://a.c', models.m = {} }"),
        ("provider.NAME.secret", "provider.p = { base_url = 'https://a.b', models.m = {}, secret = 's' }"),
        (
            "provider.NAME.models.MODEL.context",
            "provider.p = { base_url = 'https://a.b', models.m.context = 5000 }",
        ),
        (
            "provider.NAME.models.MODEL.output",
            "provider.p = { base_url = 'https://a.b', models.m.output = 5000 }",
        ),
        (
            "provider.NAME.models.MODEL.tools",
            "provider.p = { base_url = 'https://a.b', models.m.tools = false }",
        ),
        (
            "provider.NAME.models.MODEL.vision",
            "provider.p = { base_url = 'https://a.b', models.m.vision = true }",
        ),
        (
            "provider.NAME.models.MODEL.embeds",
            "provider.p = { base_url = 'https://a.b', models.m.embeds = true }",
        ),
        (
            "provider.NAME.models.MODEL.sampling",
            "provider.p = { base_url = 'https://a.b', models.m.sampling = false }",
        ),
        (
            "provider.NAME.models.MODEL.forced",
            "provider.p = { base_url = 'https://a.b', models.m.forced = false }",
        ),
        (
            "provider.NAME.models.MODEL.input_usd",
            "provider.p = { base_url = 'https://a.b', models.m = { input_usd = 1, output_usd = 0 } }",
        ),
        (
            "provider.NAME.models.MODEL.output_usd",
            "provider.p = { base_url = 'https://a.b', models.m = { input_usd = 0, output_usd = 1.5 } }",
        ),
        (
            "provider.NAME.models.MODEL.cache_read_usd",
            "provider.p = { base_url = 'https://a.b', models.m = { input_usd = 0, output_usd = 0, cache_read_usd = 1 } }",
        ),
        (
            "provider.NAME.models.MODEL.cache_write_usd",
            "provider.p = { base_url = 'https://a.b', models.m = { input_usd = 0, output_usd = 0, cache_write_usd = 1 } }",
        ),
        ("credproxy.key", "credproxy.key = 'passphrase'"),
        ("credproxy.plain_http", "credproxy.plain_http = ['localhost:80']"),
        ("credproxy.hosts", "credproxy.hosts = ['a.b:443']"),
        ("memory.ignored_tools", "memory.ignored_tools = ['TodoWrite']"),
        ("memory.sensitive_patterns", "memory.sensitive_patterns = ['AB-[0-9]+']"),
        ("memory.embedder", "memory.embedder = 'offline/hash-384'"),
        ("memory.rerank", "memory.rerank = true\ncurator.model = 'offline/reader'"),
        ("embedder.folder", "embedder.folder = 'm'"),
        ("embedder.idle_seconds", "embedder = { folder = 'm', idle_seconds = 60 }"),
        ("router.queue_total", "router.queue_total = 100"),
        ("channel.NAME.platform", "channel.c = { platform = 'telegram', secret = 's' }"),
        ("channel.NAME.secret", "channel.c = { platform = 'telegram', secret = 't' }"),
        (
            "channel.NAME.base_url",
            "channel.c = { platform = 'telegram', secret = 's', base_url = 'https://a.b' }",
        ),
        (
            "channel.NAME.agent",
            "agent.b = {}\nchannel.c = { platform = 'telegram', secret = 's', agent = 'b' }",
        ),
        ("channel.NAME.dm", "channel.c = { platform = 'telegram', secret = 's', dm = 'pairing' }"),
        (
            "channel.NAME.open_to",
            "channel.c = { platform = 'telegram', secret = 's', dm = 'open', open_to = 'everyone' }",
        ),
        ("channel.NAME.allow", "channel.c = { platform = 'telegram', secret = 's', allow = ['7'] }"),
        ("channel.NAME.groups", "channel.c = { platform = 'telegram', secret = 's', groups = ['-1'] }"),
        ("channel.NAME.members", "channel.c = { platform = 'telegram', secret = 's', members = true }"),
        (
            "channel.NAME.require_mention",
            "channel.c = { platform = 'telegram', secret = 's', require_mention = false }",
        ),
        (
            "channel.NAME.dm_session",
            "channel.c = { platform = 'telegram', secret = 's', dm_session = 'shared' }",
        ),
        ("channel.NAME.trust", "channel.c = { platform = 'telegram', secret = 's', trust = 'user' }"),
        (
            "channel.NAME.guest_messages",
            "channel.c = { platform = 'telegram', secret = 's', guest_messages = 1 }",
        ),
        ("channel.NAME.approve", "channel.c = { platform = 'telegram', secret = 's', approve = 'own' }"),
        (
            "channel.NAME.approve_code",
            "channel.c = { platform = 'telegram', secret = 's', approve_code = 'totp' }",
        ),
        ("channel.NAME.streaming", "channel.c = { platform = 'telegram', secret = 's', streaming = 'off' }"),
        ("channel.NAME.typing", "channel.c = { platform = 'telegram', secret = 's', typing = false }"),
        ("channel.NAME.app_secret", "channel.s = { platform = 'slack', secret = 's', app_secret = 'a' }"),
        ("ingress.listen", &whatsapp("7", "").replace(":9", ":10")),
        ("channel.NAME.number", &whatsapp("8", "")),
        ("channel.NAME.verify_secret", &whatsapp("7", "").replace("'v'", "'w'")),
        ("channel.NAME.address", &mailbox("b@b.c", "")),
        ("channel.NAME.imap", &mailbox(MAILBOX, "").replace("b.c:993", "b.d:993")),
        ("channel.NAME.smtp", &mailbox(MAILBOX, "").replace("b.c:465", "b.d:465")),
        ("channel.NAME.login", &mailbox(MAILBOX, ", login = 'ann'")),
        ("channel.NAME.authserv", &mailbox(MAILBOX, ", authserv = 'mx.b.c'")),
        ("service.NAME.base_url", "service.q = { base_url = 'https://a.c' }"),
        ("mcp.NAME.command", "mcp.s = { command = ['b'] }"),
        ("mcp.NAME.package", "mcp.s = { package = 'pypi:a==1' }"),
        ("mcp.NAME.url", "mcp.s = { url = 'https://a.b/c' }"),
        (
            "mcp.NAME.service",
            "mcp.s = { url = 'https://a.b/c', service = 'q' }\nservice.q = { base_url = 'https://a.b', secret = 's' }",
        ),
        ("mcp.NAME.token_url", "mcp.s = { url = 'https://a.b/c', token_url = 'https://l.b/token' }"),
        ("mcp.NAME.opaque", "mcp.s = { command = ['a'], opaque = ['a.b:443'] }"),
        ("mcp.NAME.network", "mcp.s = { command = ['a'], network = ['a.b:443'] }"),
        ("mcp.NAME.scope", "mcp.s = { command = ['a'], scope = 'host' }"),
        ("mcp.NAME.agents", "mcp.s = { command = ['a'], agents = ['default'] }"),
        ("mcp.NAME.tools", "mcp.s = { command = ['a'], tools = ['t'] }"),
        ("mcp.NAME.workspace", "mcp.s = { command = ['a'], workspace = true }"),
        ("mcp.NAME.seconds", "mcp.s = { command = ['a'], seconds = 7 }"),
        ("service.NAME.secret", "service.q = { base_url = 'https://a.b', secret = 't' }"),
        ("service.NAME.oauth", "service.q = { base_url = 'https://a.b', secret = 's', oauth = true }"),
        ("service.NAME.header", "service.q = { base_url = 'https://a.b', secret = 's', header = 'x-key' }"),
        ("service.NAME.prefix", "service.q = { base_url = 'https://a.b', secret = 's', prefix = 'Token ' }"),
        ("service.NAME.query", "service.q = { base_url = 'https://a.b', secret = 's', query = 'key' }"),
        ("service.NAME.field", "service.q = { base_url = 'https://a.b', secret = 's', field = 'key' }"),
        ("service.NAME.verbs", "service.q = { base_url = 'https://a.b', secret = 's', verbs = ['GET'] }"),
        ("service.NAME.paths", "service.q = { base_url = 'https://a.b', secret = 's', paths = ['/x'] }"),
        (
            "service.NAME.agents",
            "service.q = { base_url = 'https://a.b', secret = 's', agents = ['default'] }",
        ),
        (
            "service.NAME.description",
            "service.q = { base_url = 'https://a.b', secret = 's', description = 'd' }",
        ),
        (
            "service.NAME.idempotency_header",
            "service.q = { base_url = 'https://a.b', secret = 's', idempotency_header = 'k' }",
        ),
        ("service.NAME.variable", "service.q = { base_url = 'https://a.b', secret = 's', variable = 'KEY' }"),
        ("model.route.default", "model.route.default = ['offline/reader']"),
        ("model.route.fast", "model.route.fast = ['offline/reader']"),
        ("model.route.thinking", "model.route.thinking = ['offline/reader']"),
        ("model.route.coding", "model.route.coding = ['offline/reader']"),
        ("model.temperature", "model.temperature = 0.7"),
        ("model.stop", "model.stop = ['END']"),
        ("budget.day_usd", "budget.day_usd = 1.5"),
        ("budget.month_usd", "budget.month_usd = 1"),
        ("budget.session_usd", "budget.session_usd = 1"),
        ("budget.agent_usd", "budget.agent_usd = 1"),
        ("budget.cheaper_model", "budget.cheaper_model = 'offline/reader'"),
        ("budget.warn_at", "budget.warn_at = 0.5"),
        ("web.mode", "web.mode = 'unrestricted'"),
        ("web.allow", "web.allow = ['a.b']"),
        ("web.block", "web.block = ['a.b']"),
        ("web.private_hosts", "web.private_hosts = ['127.0.0.1:80']"),
        ("credproxy.private_hosts", "credproxy.private_hosts = ['10.0.0.9:443']"),
        ("web.search.provider", "web.search = { provider = 'searxng', base_url = 'https://a.b' }"),
        (
            "web.search.base_url",
            "web.search = { provider = 'brave', secret = 's', base_url = 'https://a.b' }",
        ),
        ("web.search.secret", "web.search = { provider = 'brave', secret = 't' }"),
        ("policy.contacts", "policy.contacts = ['ada@example.com']"),
        ("curator.model", "curator.model = 'offline/reader'"),
        ("curator.conflict_low", "curator.conflict_low = 0.5"),
        ("curator.conflict_high", "curator.conflict_high = 0.95"),
        ("scheduler.tokens_per_fire", "scheduler = { enabled = true, tokens_per_fire = 5000 }"),
        ("gateway.listen", "gateway.listen = '127.0.0.1:80'"),
        ("gateway.origins", "gateway.origins = ['https://a.b']"),
        ("gateway.hosts", "gateway.hosts = ['a.b']"),
        ("audit.retention_days.info", "audit.retention_days.info = 31"),
        ("audit.retention_days.warning", "audit.retention_days.warning = 91"),
        ("audit.retention_days.error", "audit.retention_days.error = 366"),
        ("tool.TOOL.effect", "tool.t.effect = 'pay'"),
        ("tool.TOOL.relevant_args", "tool.t.relevant_args = ['to']"),
        ("tool.TOOL.record_args", "tool.t = { relevant_args = ['to'], record_args = ['to'] }"),
        ("tool.TOOL.irreversible", "tool.t.irreversible = true"),
        ("tool.TOOL.approval.level", "tool.t.approval.level = 'always'"),
        ("tool.TOOL.approval.danger_patterns", "tool.t.approval.danger_patterns = ['rm -rf']"),
        ("tool.TOOL.approval.trust_after_approval", "tool.t.approval.trust_after_approval = true"),
        ("tool.TOOL.approval.ask_for_methods", "tool.t.approval.ask_for_methods = ['PUT']"),
        ("tool.TOOL.data.sensitivity", "tool.t.data.sensitivity = 'high'"),
        ("tool.TOOL.data.can_read_secrets", "tool.t.data.can_read_secrets = true"),
        ("tool.TOOL.data.can_leak_data", "tool.t.data.can_leak_data = true"),
        ("tool.TOOL.data.sanitize_output", "tool.t.data.sanitize_output = false"),
        ("tool.TOOL.network.access", "tool.t.network.access = 'full'"),
        ("tool.TOOL.network.allowed_hosts", "tool.t.network.allowed_hosts = []"),
        ("tool.TOOL.network.blocked_hosts", "tool.t.network.blocked_hosts = ['*.b']"),
        ("tool.TOOL.network.blocked_ports", "tool.t.network.blocked_ports = [22]"),
        ("tool.TOOL.network.block_private_ips", "tool.t.network.block_private_ips = false"),
        ("tool.TOOL.network.block_metadata", "tool.t.network.block_metadata = false"),
        (
            "tool.TOOL.network.require_approval_for_unknown_hosts",
            "tool.t.network.require_approval_for_unknown_hosts = true",
        ),
        ("tool.TOOL.execution.sandbox", "tool.t.execution.sandbox = 'none'"),
        ("tool.TOOL.execution.network_mode", "tool.t.execution.network_mode = 'proxy'"),
        ("tool.TOOL.execution.timeout", "tool.t.execution.timeout = 1"),
        ("tool.TOOL.execution.max_output_size", "tool.t.execution.max_output_size = 1"),
        ("tool.TOOL.execution.allowed_paths", "tool.t.execution.allowed_paths = ['docs/**']"),
        ("tool.TOOL.execution.blocked_paths", "tool.t.execution.blocked_paths = ['*.key']"),
        ("tool.TOOL.execution.env", "tool.t.execution.env = 'explicit'"),
        ("tool.TOOL.execution.allowed_env_vars", "tool.t.execution.allowed_env_vars = ['HOME']"),
        ("tool.TOOL.audit.log_args", "tool.t.audit.log_args = false"),
        ("tool.TOOL.audit.log_output", "tool.t.audit.log_output = true"),
        ("tool.TOOL.audit.use_shared_secret_detector", "tool.t.audit.use_shared_secret_detector = false"),
        ("tool.TOOL.audit.alert_on", "tool.t.audit.alert_on = ['blocked']"),
        ("tool.TOOL.labels.output_trust", "tool.t.labels.output_trust = 'user'"),
        ("tool.TOOL.labels.output_data_class", "tool.t.labels.output_data_class = 'public'"),
        ("tool.TOOL.labels.accepts_untrusted", "tool.t.labels.accepts_untrusted = false"),
        ("tool.TOOL.labels.owner_records", "tool.t.labels.owner_records = true"),
    ];
    let plan = |text: &str| check_in(folder.path(), text.as_bytes(), &machine()).unwrap().document().unwrap();
    for (path, text) in cases {
        // A value in a table that must have other keys is compared with the same table without it.
        let base = match path.split('.').next().unwrap() {
            "user[]" => "user = [{ name = 'a', role = 'user' }]".to_owned(),
            "engine" => "agent.default.engine = 'e'\nengine.e.command = ['x']".to_owned(),
            "agent" if path == "agent.NAME.limits.idle_seconds" => {
                "agent.default.engine = 'codex'".to_owned()
            }
            "provider" => provider.replace('q', "p"),
            "embedder" if path == "embedder.idle_seconds" => "embedder.folder = 'm'".to_owned(),
            "scheduler" => "scheduler.enabled = true".to_owned(),
            "channel" if path == "channel.NAME.platform" => String::new(),
            "channel" if path == "channel.NAME.agent" => {
                "agent.b = {}\nchannel.c = { platform = 'telegram', secret = 's' }".to_owned()
            }
            _ if text.contains("'whatsapp'") => whatsapp("7", ""),
            "channel" if path == "channel.NAME.app_secret" => String::new(),
            "channel" if text.contains("'email'") => mailbox(MAILBOX, ""),
            "channel" => "channel.c = { platform = 'telegram', secret = 's' }".to_owned(),
            "service" => "service.q = { base_url = 'https://a.b', secret = 's' }".to_owned(),
            "mcp" if path == "mcp.NAME.service" => {
                "mcp.s = { url = 'https://a.b/c' }\nservice.q = { base_url = 'https://a.b', secret = 's' }"
                    .to_owned()
            }
            "mcp" if path == "mcp.NAME.token_url" => "mcp.s = { url = 'https://a.b/c' }".to_owned(),
            "mcp" => "mcp.s = { command = ['a'] }".to_owned(),
            "web" if path.starts_with("web.search.") && path != "web.search.provider" => {
                "web.search = { provider = 'brave', secret = 's' }".to_owned()
            }
            "tool" if path == "tool.TOOL.record_args" => "tool.t.relevant_args = ['to']".to_owned(),
            "tool" => "[tool.t]".to_owned(),
            _ => String::new(),
        };
        assert_ne!(plan(text), plan(&base), "{path}");
    }
    for (path, _) in cases {
        assert!(keys::find(path).is_some(), "{path} is no key");
    }
    for key in
        keys::all().filter(|key| key.path != "version" && cases.iter().all(|(path, _)| *path != key.path))
    {
        let text = another_value(key).unwrap_or_else(|| panic!("give {} a value", key.path));
        assert_ne!(plan(&format!("{} = {text}", key.path)), plan(""), "{}", key.path);
    }
}
