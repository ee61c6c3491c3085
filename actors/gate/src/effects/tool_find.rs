//! `tool_find`: the tools of an agent's servers that fit some words. What it finds, the model is told of with its next step.

use crate::effects::outcome::{Effect, done, failed};
use crate::state::context::GateContext;
use crate::state::mcp::servers_of;
use crate::turn::context::TurnContext;
use ipc_proto::Text;
use ipc_proto::tool::ToolSpec;
use serde_json::{Map, Value};
use toolset::server_tools::FOUND;

/// Bytes of a description that an answer shows.
const SHOWN: usize = 300;

/// Finds tools, and lists them for the rest of the turn.
pub(crate) fn find(gate: &GateContext, context: &mut TurnContext, args: &Map<String, Value>) -> Effect {
    let words = args.get("words").and_then(Value::as_str).unwrap_or_default();
    let limit = args.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
    let specs: Vec<ToolSpec> = context.hidden.iter().filter_map(|tool| gate.mcp.spec(tool)).collect();
    let found = best(&specs, words, limit.unwrap_or(FOUND));
    if found.is_empty() {
        let servers = servers_of(&context.hidden);
        return failed(&format!(
            "none of the {} tools fits these words; their servers: {servers}",
            specs.len()
        ));
    }
    context.list(found.iter().map(|spec| spec.name.to_string()));
    let line = |spec: &&ToolSpec| {
        let said: String = spec.description.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("- {}: {}", spec.name, Text::<SHOWN>::clip(&said))
    };
    let lines: Vec<String> = found.iter().map(line).collect();
    done(format!("These can be called from now on:\n{}", lines.join("\n")), None)
}

/// The tools that have most of the words, best first. A word in the name counts for three.
fn best<'a>(specs: &'a [ToolSpec], words: &str, limit: usize) -> Vec<&'a ToolSpec> {
    let words = words.to_lowercase();
    let words: Vec<&str> =
        words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let score = |spec: &ToolSpec| -> usize {
        let (name, said) = (spec.name.to_lowercase(), spec.description.to_lowercase());
        let of = |word: &&str| 3 * usize::from(name.contains(word)) + usize::from(said.contains(word));
        words.iter().map(of).sum()
    };
    let mut scored: Vec<(usize, &ToolSpec)> = specs.iter().map(|spec| (score(spec), spec)).collect();
    scored.retain(|(score, _)| *score > 0);
    scored.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.name.as_str().cmp(other.name.as_str())));
    scored.into_iter().take(limit).map(|(_, spec)| spec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::mcp::found_in;
    use ipc_proto::Name;

    #[test]
    fn tools_are_found_by_their_names_and_descriptions_best_first() {
        let spec = |name: &str, said: &str| ToolSpec {
            name: Name::clip(name),
            description: Text::clip(said),
            schema: Text::clip("{}"),
            in_jail: false,
        };
        let specs = [
            spec("git__log", "Shows commits"),
            spec("mail__send", "Sends a message; commits nothing"),
            spec("git__commit", "Records changes"),
        ];
        let names = |words: &str, limit| -> Vec<String> {
            best(&specs, words, limit).iter().map(|spec| spec.name.to_string()).collect()
        };
        assert_eq!(names("Commit", 9), ["git__commit", "git__log", "mail__send"]);
        assert_eq!(names("git commit", 1), ["git__commit"]);
        assert!(names("weather", 9).is_empty() && names("?!", 9).is_empty());
        assert_eq!(
            found_in("These:\n- a__b: says - c__d: x\n- e__f: y").collect::<Vec<_>>(),
            ["a__b", "e__f"]
        );
    }
}
