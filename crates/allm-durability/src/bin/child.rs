//! The program that is killed.

use std::process::ExitCode;

fn main() -> ExitCode {
    allm_durability::child::main()
}
