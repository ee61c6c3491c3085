//! The command line of `chaos`, and what the surroundings say where it says nothing.

use ipc_proto::ids::TurnId;

/// How it is called.
pub(crate) const USAGE: &str = "\
usage: chaos [--faults N] [--seed S] [--runs K] [--mode system|user|flat]
       chaos --channel telegram [--faults N] [--seed S] [--runs K]

Without an argument: CHAOS_FAULTS (200), CHAOS_SEED (a random one) and CHAOS_RUNS (1) of the environment. The seed of
run k is S + k. With --channel the faults are `kill -9` of channel, credproxy, dialer and router while messages go both ways, and
the runs go side by side. Exit status: 0 if no law was broken, 1 if one was, 64 usage.";

/// The options of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// Faults of one run.
    pub(crate) faults: u64,
    /// The seed of the first run.
    pub(crate) seed: u64,
    /// Runs, each with a fresh host.
    pub(crate) runs: u64,
    /// The host's mode; its own choice without one.
    pub(crate) mode: Option<String>,
    /// True if the run is one over a messenger.
    pub(crate) channel: bool,
}

impl Arguments {
    /// Reads them.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut found = Self {
            faults: surroundings("CHAOS_FAULTS")?.unwrap_or(200),
            seed: surroundings("CHAOS_SEED")?.unwrap_or_else(random),
            runs: surroundings("CHAOS_RUNS")?.unwrap_or(1),
            mode: None,
            channel: false,
        };
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            match word.as_str() {
                "--faults" => found.faults = number(&word, &value)?,
                "--seed" => found.seed = number(&word, &value)?,
                "--runs" => found.runs = number(&word, &value)?,
                "--mode" if ["system", "user", "flat"].contains(&value.as_str()) => found.mode = Some(value),
                "--channel" if value == "telegram" => found.channel = true,
                _ => return Err(format!("not understood: {word} {value}")),
            }
        }
        Ok(found)
    }
}

fn surroundings(name: &str) -> Result<Option<u64>, String> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| number(name, &value)).transpose()
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{name} must be a whole number, and is {value:?}"))
}

fn random() -> u64 {
    TurnId::random().bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_argument_is_understood_and_what_is_none_is_named() {
        let expected =
            Arguments { faults: 5, seed: 7, runs: 2, mode: Some("flat".to_owned()), channel: false };
        assert_eq!(read("--faults 5 --seed 7 --runs 2 --mode flat"), Ok(expected));
        assert!(read("--channel telegram").is_ok_and(|found| found.channel));
        for (line, named) in [
            ("--channel x", "x"),
            ("--faults", "--faults"),
            ("--seed x", "\"x\""),
            ("--mode wild", "wild"),
            ("a b", "a b"),
        ] {
            assert!(read(line).is_err_and(|why| why.contains(named)), "{line}");
        }
    }
}
