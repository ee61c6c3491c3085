//! The law of refusals: each says what to do. The catalogue is every error that a person or a model is shown, as its enum declares it.

use crate::source;

/// The files of the catalogue.
const CATALOGUE: &[&str] = &[
    "ipc-proto/src/router/error.rs",
    "ipc-proto/src/control.rs",
    "ipc-proto/src/gate.rs",
    "ipc-proto/src/runner_gate.rs",
    "ipc-proto/src/model.rs",
    "ipc-proto/src/credproxy/error.rs",
    "ipc-proto/src/audit.rs",
    "ipc-proto/src/curator.rs",
    "ipc-proto/src/embedder.rs",
    "ipc-proto/src/memory.rs",
    "ipc-proto/src/memory/refusal.rs",
    "ipc-proto/src/web.rs",
    "ipc-proto/src/dialer.rs",
    "ipc-proto/src/channel.rs",
    "actors/gate/src/decision/refusal.rs",
    "actors/gate/src/effects/memory_reads.rs",
    "agentctl/src/failure.rs",
    "agentctl/src/failure/backup.rs",
    "agentctl/src/failure/tunnel.rs",
];
/// Sentences whose remedy is in the error or text that they pass on.
const PASSED_ON: &[&str] = &[
    "not allowed: {0}",
    "LLM_ERROR: {0}",
    "LLM_BUDGET_EXCEEDED: the budget per {per} is used up; {}",
    "no connection: {0}",
    "not kept: {0}",
    "{reason} [{policies}]; {remedy}",
    "{} cannot be seen from a jail, which has the machine's /usr and the workspace alone; {remedy}",
    "{cause}; the edited text is in {}",
];
/// Words with which a clause tells a person what to do.
const ACTS: &[&str] = &[
    "abort", "add", "answer", "approve", "ask", "attach", "begin", "change", "check", "choose", "collect",
    "copy", "correct", "delete", "do", "end", "free", "give", "install", "leave", "make", "move", "name",
    "put", "raise", "read", "remove", "restart", "run", "say", "see", "send", "set", "show", "start",
    "store", "try", "unlock", "use", "wait",
];
/// The least number of refusals: a catalogue that cannot be read any more is noticed.
const LEAST: usize = 240;

/// The sentences that `#[error("…")]` gives the variants of a file, continued lines joined.
fn sentences(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for attribute in code.split("#[error(").skip(1) {
        let Some(literal) = attribute.trim_start().strip_prefix('"') else { continue };
        let (mut sentence, mut escaped) = (String::new(), false);
        for c in literal.chars() {
            match c {
                '"' if !escaped => break,
                '\\' if !escaped => {
                    escaped = true;
                    continue;
                }
                c => sentence.push(c),
            }
            escaped = false;
        }
        found.push(sentence.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    found
}

/// Returns true if the sentence is nothing but another error.
fn is_another(sentence: &str) -> bool {
    let is_field = |part: &str| part.trim_matches([' ', ':', ';']).is_empty();
    sentence.split('{').all(|part| is_field(part.split_once('}').map_or(part, |(_, rest)| rest)))
}

/// Returns true if a clause names a command, or begins with a word that says what to do.
fn says_what_to_do(sentence: &str) -> bool {
    let begins = |clause: &str| clause.split_whitespace().next().is_some_and(|word| ACTS.contains(&word));
    let clauses = sentence
        .split([';', ':', ',', '.'])
        .flat_map(|part| part.split(" or "))
        .flat_map(|part| part.split(" and "));
    sentence.contains("agentctl ") || sentence.contains("agentd ") || clauses.skip(1).any(begins)
}

// Holds P8-37.
#[test]
fn every_refusal_of_the_catalogue_says_what_to_do() {
    let (mut all, mut without) = (0, Vec::new());
    for file in CATALOGUE {
        for sentence in sentences(&source::read(file)) {
            all += 1;
            let passes_on = is_another(&sentence) || PASSED_ON.contains(&sentence.as_str());
            if !passes_on && !says_what_to_do(&sentence) {
                without.push(format!("{file}: {sentence}"));
            }
        }
    }
    assert!(all >= LEAST, "{all} refusals");
    assert!(without.is_empty(), "{} refusals without a remedy:\n{}", without.len(), without.join("\n"));
}

#[test]
fn a_remedy_is_a_command_or_an_act_and_nothing_less() {
    for good in
        ["no such row; `agentctl memory list` shows them", "too long; send it in parts", "busy; try again"]
    {
        assert!(says_what_to_do(good), "{good}");
    }
    for bad in [
        "no such turn",
        "use is forbidden",
        "the vault cannot be read or written",
        "it is over; nothing was done",
    ] {
        assert!(!says_what_to_do(bad), "{bad}");
    }
    assert!(is_another("{0}") && is_another("{message}") && !is_another("not kept: {0}"));
    let text = "#[error(\n    \"one {0}; \\\n     two\",\n    x\n)]\n#[error(\"say \\\"no\\\"\")]";
    assert_eq!(sentences(text), ["one {0}; two", "say \"no\""]);
}
