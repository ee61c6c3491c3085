//! Functional: what a person asks for happens, through real processes.

mod approvals;
mod operations;
mod sandbox;
mod turns;
