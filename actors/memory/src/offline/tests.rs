//! Tests of the evaluation: its answers, its figures, and the input that it refuses.

use super::*;
use crate::offline::lines::LineFault;

const TALK: &str = r#"{"op":"add","id":"a","session":"s","time":"2031-01-14T18:40:00Z","speaker":"Ida","text":"I moved to Bergen."}
{"op":"add","id":2,"session":"s","time":"1:56 pm on 8 May, 2031","speaker":"Ruben","text":"How is the flat?"}
{"op":"add","id":"c","session":"t","time":1936000000,"text":"The ferry leaves at noon."}

{"op":"ask","id":"q1","question":"Where does Ida live?","evidence":["a"]}
{"op":"ask","id":7,"question":"When does the ferry leave?","evidence":["c","missing"]}
"#;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn told(task: Task, lines: &str) -> (Result<(), Fault>, Vec<Value>) {
    let mut out = Vec::new();
    let done = evaluate(task, lines.as_bytes(), &mut out);
    let out = String::from_utf8(out).unwrap();
    (done, out.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn by(manner: Manner) -> Task {
    Task { limit: 20, manner, json: false }
}

#[test]
fn options_come_in_any_order_and_nothing_else_is_taken() {
    assert_eq!(task(&words("eval")), Some(by(Manner::Words)));
    let all = Task { limit: 5, manner: Manner::Fused, json: true };
    assert_eq!(task(&words("eval --json --by fused --limit 5")), Some(all));
    for bad in ["", "look", "eval --limit", "eval --limit 0", "eval --limit 101", "eval --by luck", "eval x"]
    {
        assert_eq!(task(&words(bad)), None, "{bad}");
    }
}

#[test]
fn each_question_is_answered_by_id_and_figures_come_last() {
    for manner in [Manner::Words, Manner::Meaning, Manner::Fused, Manner::Weighted, Manner::Plain] {
        let (done, out) = told(by(manner), TALK);
        done.unwrap();
        let ids: Vec<&Value> = out.iter().map(|line| &line["id"]).collect();
        assert_eq!(ids, [&json!("q1"), &json!(7), &Value::Null], "{manner:?}");
        assert_eq!(out[1]["results"][0], json!("c"), "{manner:?}");
        let figures = &out[2]["figures"];
        assert_eq!(figures["questions"], 2);
        assert!(figures["recall@20"].as_f64().unwrap() >= 0.25 && figures["mrr"].is_number(), "{manner:?}");
    }
}

#[test]
fn only_a_mark_at_the_start_of_a_file_is_skipped() {
    let (done, out) = told(by(Manner::Words), &format!("\u{feff}{TALK}"));
    done.unwrap();
    assert_eq!(out, told(by(Manner::Words), TALK).1);
    let (done, _) = told(by(Manner::Words), &TALK.replacen('\n', "\n\u{feff}", 1));
    assert!(matches!(done, Err(Fault::Line(LineFault::Malformed { line: 2, .. }))), "{done:?}");
}

#[test]
fn a_question_that_names_a_manner_is_answered_by_that() {
    // No word of the full-text index is spelt so; by meaning it is near enough.
    let asked =
        |manner| format!("{TALK}{{\"op\":\"ask\",\"id\":1,\"question\":\"ferrry leavess noonn\"{manner}}}");
    let found = |lines: String| told(by(Manner::Plain), &lines).1[2]["results"].clone();
    assert_eq!(found(asked("")), json!([]));
    assert_eq!(found(asked(",\"manner\":\"meaning\""))[0], json!("c"));
}

/// Turns whose vectors say something else than their words, and a question with one.
fn with_vectors(asked: &str) -> String {
    [
        r#"{"op":"add","id":"a","text":"the ferry leaves at noon","vector":[1.0,0.0,0.5]}"#,
        r#"{"op":"add","id":"b","text":"Ida bought a cello","vector":[0.0,1.0,0.5]}"#,
        r#"{"op":"add","id":"c","text":"nobody embedded this"}"#,
        &format!(r#"{{"op":"ask","id":1,"question":"the ferry leaves","evidence":["b"]{asked}}}"#),
    ]
    .join("\n")
}

#[test]
fn what_is_meant_is_said_by_the_vectors_that_come_with_the_lines() {
    let lines = with_vectors(",\"vector\":[0.1,0.9,0.5]");
    let (done, out) = told(by(Manner::Meaning), &lines);
    done.unwrap();
    assert_eq!(out[0]["results"], json!(["b", "a"]), "and a turn without a vector means nothing");
    assert_eq!(told(by(Manner::Words), &lines).1[0]["results"][0], json!("a"));
}

#[test]
fn a_vector_of_another_length_ends_it() {
    for lines in [
        with_vectors(",\"vector\":[1.0]"),
        with_vectors("").replace("\"nobody embedded this\"", "\"x\",\"vector\":[1.0]"),
    ] {
        let (done, _) = told(by(Manner::Meaning), &lines);
        assert!(matches!(done, Err(Fault::Store(StoreError::OtherEmbedder))), "{done:?}");
    }
}

#[test]
fn a_turn_that_says_nothing_is_passed_over_and_its_place_stays() {
    let lines = format!("{{\"op\":\"add\",\"id\":\"void\",\"text\":\" \"}}\n{TALK}");
    let (done, out) = told(by(Manner::Words), &lines);
    done.unwrap();
    assert_eq!(out[0]["results"][0], json!("a"));
}

// Holds B-138, P3-29.
#[test]
fn a_cut_text_is_measured_by_the_part_that_is_left() {
    let long = format!("the quince {}", "x".repeat(200_000));
    let question = format!("quince {}", "y ".repeat(4000));
    let lines = [
        json!({"op": "add", "id": 1, "text": long}).to_string(),
        r#"{"op":"add","id":2,"text":"the medlar \ud83d"}"#.to_owned(),
        json!({"op": "ask", "id": "q", "question": question, "evidence": [1]}).to_string(),
        r#"{"op":"ask","id":"r","question":"\udc00 medlar","evidence":[2]}"#.to_owned(),
    ];
    let (done, out) = told(by(Manner::Words), &lines.join("\n"));
    done.unwrap();
    assert_eq!((&out[0]["results"], &out[1]["results"]), (&json!([1]), &json!([2])));
    assert_eq!(out[2]["figures"]["mrr"], 1.0, "{out:?}");
}

// Holds B-137.
#[test]
fn a_malformed_line_ends_it_with_its_number_and_nothing_of_it() {
    for (bad, why) in [
        ("{\"op\":\"add\"", "not JSON"),
        ("[]", "not {"),
        ("{\"op\":\"forget\",\"id\":\"hunter2\"}", "not {"),
        ("{\"op\":\"add\",\"id\":\"x\"}", "not {"),
        ("{\"op\":\"add\",\"id\":[\"hunter2\"],\"text\":\"x\"}", "id is no text"),
        ("{\"op\":\"add\",\"id\":1,\"time\":{},\"text\":\"x\"}", "time is no text"),
        ("{\"op\":\"ask\",\"id\":1,\"question\":\"x\",\"evidence\":[null]}", "evidence is no text"),
        (&"x".repeat((16 << 20) + 1), "longer than"),
    ] {
        let (done, out) = told(by(Manner::Words), &format!("{TALK}\n{bad}\n{TALK}"));
        let Err(Fault::Line(LineFault::Malformed { line, why: said })) = done else { panic!("{why}") };
        assert_eq!(line, 8, "{why}");
        assert!(said.contains(why) && !said.contains("hunter2"), "{said}");
        assert_eq!(out.len(), 2, "no figures: {why}");
    }
}

#[test]
fn no_question_at_all_gives_figures_of_nothing() {
    let (done, out) = told(by(Manner::Words), "");
    done.unwrap();
    assert_eq!(out, [json!({"figures": {"recall@20": 0.0, "hit@20": 0.0, "mrr": 0.0, "questions": 0}})]);
}

const CONVERSATIONS: &str = include_str!("../../evaluation/conversations.jsonl");

/// Two friends each, over months; written after the ranking was, and asked by who, what, when, over several sessions, and
/// about one what the other did.
const MONTHS: &str = include_str!("../../evaluation/months.jsonl");
/// Tickets with codes, a family's chat, notes in German and Spanish, very long and very short turns.
const OTHERS: &str = include_str!("../../evaluation/others.jsonl");
/// A doctor's patient, a game, reviews of code, a monologue without a mark, friends with pictures, Russian, Japanese, Chinese: all in
/// one memory.
const KINDS: &str = include_str!("../../evaluation/kinds.jsonl");
/// The speakers, in the order in which each conversation is begun: with these names, all are of the same few people.
const SPEAKERS: &[(&str, &[&str])] = &[
    ("Robin", &["Ruben", "Noor", "Marcus", "Hanna", "Nadia", "Tom"]),
    ("Kim", &["Ida", "Theo", "Elena", "Pavel", "Oskar", "Priya"]),
    ("Lou", &["Grace"]),
];

fn figure(lines: &str, manner: Manner, name: &str) -> f64 {
    let (done, out) = told(by(manner), lines);
    done.unwrap();
    out.last().and_then(|line| line["figures"][name].as_f64()).unwrap()
}

/// Both sets as one long talk of the same few people: who is asked about says little then.
fn of_few_people() -> String {
    let mut lines = format!("{CONVERSATIONS}\n{MONTHS}");
    for (name, others) in SPEAKERS {
        for other in *others {
            lines = lines.replace(other, name);
        }
    }
    let (told, asked): (Vec<&str>, Vec<&str>) =
        lines.lines().partition(|line| line.contains("\"op\": \"add\""));
    told.into_iter().chain(asked).collect::<Vec<_>>().join("\n")
}

// Holds P3-30.
#[test]
fn tickets_other_languages_and_turns_of_any_length_are_found_as_well() {
    assert!(figure(OTHERS, Manner::Words, "recall@20") >= 0.94);
    assert!(figure(OTHERS, Manner::Words, "mrr") >= figure(OTHERS, Manner::Plain, "mrr") + 0.08);
}

// Holds P3-30.
#[test]
fn conversations_of_many_kinds_and_scripts_in_one_memory_are_told_apart() {
    assert!(figure(KINDS, Manner::Words, "recall@20") >= 0.87);
    assert!(figure(KINDS, Manner::Words, "mrr") >= 0.56);
}

#[test]
fn search_by_words_beats_the_full_text_index_on_long_talks() {
    for (lines, recall, rank) in
        [(CONVERSATIONS, 0.91, 0.74), (MONTHS, 0.92, 0.70), (&of_few_people(), 0.87, 0.62)]
    {
        let (words, plain) =
            (figure(lines, Manner::Words, "recall@20"), figure(lines, Manner::Plain, "recall@20"));
        assert!(words >= recall, "{words} {recall}");
        assert!(words >= plain + 0.2, "{words} {plain}");
        let found = figure(lines, Manner::Words, "mrr");
        assert!(found >= rank, "{found} {rank}");
    }
}
