//! `agentctl` from outside: the real program against a control server that speaks the real interface over a real
//! socket. Only what stands behind control is canned.

// `cfg(test)` always holds here; it tells the lints that helpers are tests too.
#[cfg(test)]
mod approving;
#[cfg(test)]
mod canned;
#[cfg(test)]
mod channels;
#[cfg(test)]
mod curating;
#[cfg(test)]
mod host;
#[cfg(test)]
mod people;
#[cfg(test)]
mod probing;
#[cfg(test)]
mod queueing;
#[cfg(test)]
mod recalled;
#[cfg(test)]
mod remembering;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod scheduled;
#[cfg(test)]
mod secrets;
mod servers;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod state;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod widths;
