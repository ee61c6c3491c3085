//! The limits of an agent: `[agent.NAME.limits]`. Pure data.

use crate::config::key::{number, section};

section! {
    /// `[agent.NAME.limits]`.
    #[derive(Copy)]
    pub struct AgentLimits in "agent.NAME.limits", read by [Router, Gate] {
        /// The most tool calls in one turn.
        tool_calls: u32 = number(1..=1000, 50),
        /// The number of failures in a row after which a tool is refused for the rest of the turn.
        tool_failures: u32 = number(1..=50, 3),
        /// Wall clock of a turn, seconds. The largest value of all agents is the longest life of a runner.
        seconds: u32 [Agentd] = number(1..=3600, 120),
        /// CPU time of all processes in a turn's jail together, seconds.
        cpu_seconds: u32 = number(1..=3600, 60),
        /// Wall clock of a program that a person runs with the agent (`agentctl run`), and of a turn of its engine, seconds.
        run_seconds: u32 = number(1..=86_400, 14_400),
        /// CPU time of all processes in the jail of such a program together, seconds.
        run_cpu_seconds: u32 = number(1..=3600, 3600),
        /// The most tokens of one answer.
        output_tokens: u32 = number(256..=200_000, 4096),
        /// The most model calls of one session in an hour.
        model_calls_per_hour: u32 = number(1..=100_000, 600),
        /// How often a turn may call one tool with the same arguments; the next such call is refused, and the model gets the
        /// reason. If the model repeats the call at once, its turn ends.
        same_call: u32 = number(1..=1000, 3),
    }
}
