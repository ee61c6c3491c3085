//! Prints what the policies make of AgentDojo's plans, a line for each suite and below it what asked.
//! Usage: agentdojo [PLAN.json [PROFILE]].

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for people, no part of any process")]

#[path = "../tests/policy/replay.rs"]
mod replay;

fn main() {
    let mut words = std::env::args().skip(1);
    let (path, profile) = (words.next(), words.next());
    let engine = policy::Engine::built_in().unwrap();
    let plan = replay::plan(path.as_deref());
    for suite in replay::replay(&engine, &plan, profile.as_deref().unwrap_or("standard")) {
        println!(
            "{:<10} attacks through {}/{}  tasks with no question {}/{}  questions {}  refusals {}",
            suite.name,
            suite.through.len(),
            suite.pairs,
            suite.free,
            suite.tasks,
            suite.asks,
            suite.denies
        );
        for (about, times) in &suite.asked {
            println!("    {times:>3} × {about}");
        }
    }
}
