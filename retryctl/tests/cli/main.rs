//! The program as its users run it: what it prints, and its exit codes.

mod plan;
mod run;
