#![no_main]

#[path = "../wires.rs"]
mod wires;

use allm::fuzzing::Wire;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| wires::check(Wire::Anthropic, data));
