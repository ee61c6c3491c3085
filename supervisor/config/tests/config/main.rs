//! agentd-config from outside: its reports on files, and its document for agentd.

#[cfg(test)]
mod channels;
#[cfg(test)]
mod common;
#[cfg(test)]
mod engines;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod known;
#[cfg(test)]
mod people;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod program;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reaching;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod services;
#[cfg(test)]
mod started;
