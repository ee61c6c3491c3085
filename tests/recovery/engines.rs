//! kill -9 at every step of a turn that an engine answers: it is answered once, and an answer that is kept is not asked
//! for again.

use serde_json::Value;
use std::fs;
use tests::Setup;

const PROGRAM: &str = include_str!("../functional/engines.py");
const CONFIG: &str = "[agent.default]\nengine = \"e\"\nmodel = \"scripted/engine\"\n\
    [engine.e]\ncommand = [\"/usr/bin/python3\", \"engine.py\", \"codex\"]\nformat = \"codex\"\n\
    resume = [\"--resume\", \"{token}\"]\nkeeps = [\".stub\"]\n";

/// Every step, and whether its answer is kept by then: process and point.
const POINTS: &[(&str, bool)] = &[
    ("router:router.start.committed", false),
    ("gate:gate.engine.kept", false),
    ("router:router.step.committed", false),
    ("gate:gate.result.kept", false),
    ("gate:gate.engine.answered", true),
    ("router:router.engine.kept", true),
    ("gate:gate.finish.recorded", true),
    ("router:router.finish.decided", true),
];

// Holds P1-36.
#[test]
fn a_crash_at_any_step_of_an_engines_turn_ends_it_once() {
    for (point, kept) in POINTS {
        let (name, _) = point.split_once(':').unwrap();
        let host = Setup::default().config(CONFIG).arguments(&["--fault", point]).start();
        host.script("engine", &[serde_json::json!({"match": "", "pieces": [{"text": "harbour-light"}]})]);
        let folder = host.dir().join("mine");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("engine.py"), PROGRAM).unwrap();
        fs::write(folder.join("note.txt"), "harbour-light\n").unwrap();
        let path = folder.to_str().unwrap();
        let ask = |text: &str| host.ask(&["chat", "--session", "s", "--workspace", path, "-m", text]);
        let ended = ask("what is in note.txt?");
        assert_eq!(host.process(name)["restarts"], 1, "{point} was never reached: {ended}");
        assert_eq!(
            (&ended["ok"], &ended["reply"]),
            (&true.into(), &"harbour-light".into()),
            "{point}: {ended}"
        );
        let log = fs::read_to_string(folder.join("starts")).unwrap();
        let starts: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!((1..=2).contains(&starts.len()), "{point}: {starts:?}");
        assert!(!kept || starts.len() == 1, "{point}: an answer that is kept was asked for again");
        let told = starts.last().and_then(|start| start["asked"].as_str()).unwrap();
        let reported = *point == "gate:gate.engine.kept" || *point == "gate:gate.result.kept";
        assert_eq!(told.contains("cat note.txt"), reported, "{point}: {told}");
        assert_eq!(host.recorded("turn_ended").len(), 1, "{point}: its end stands on the record once");
        assert_eq!(host.json(&["audit", "verify"])["ok"], true, "{point}");
        assert_eq!(ask("and now?")["ok"], true, "{point}: the session goes on");
    }
}
