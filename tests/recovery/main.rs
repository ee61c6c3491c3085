//! Recovery: kill -9 of any process at any moment loses no accepted message and repeats no effect.

mod disk;
mod fault_points;
mod kill_each;
