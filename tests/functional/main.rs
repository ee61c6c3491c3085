//! Functional: what a person asks for happens, through real processes.

mod operations;
mod sandbox;
mod turns;
