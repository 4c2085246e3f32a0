//! Many sessions, eight programs, deaths at random: `ALLM_SOAK_SECONDS=180 cargo run -p allm-durability --bin soak`.

#![expect(clippy::print_stdout, reason = "it reports")]

use std::process::ExitCode;
use std::time::Duration;

use allm_durability::soak::{Soak, soak, worker};

fn main() -> ExitCode {
    if let Some(work) = std::env::args().nth(1) {
        return worker::main(&work);
    }
    let seconds = std::env::var("ALLM_SOAK_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(180);
    let (Ok(program), Ok(runtime)) = (std::env::current_exe(), tokio::runtime::Runtime::new())
    else {
        return ExitCode::FAILURE;
    };
    let verdict = runtime.block_on(soak(&Soak {
        program,
        sessions: 500,
        workers: 8,
        time: Duration::from_secs(seconds),
        seed: 1,
    }));
    println!("{verdict:#?}");
    match verdict {
        Some(verdict) if !verdict.is_clean() => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}
