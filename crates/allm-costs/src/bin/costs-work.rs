//! Does one piece of work of a size, so that another program can count its instructions.
//!
//! ```sh
//! costs-work text:chat http://127.0.0.1:4000 1000
//! ```

use allm_costs::wire::Wire;
use allm_costs::{Failure, work};

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, url, count] = arguments.as_slice() else {
        return Err("wanted: the work, the server's address, the size".into());
    };
    let count = count.parse()?;
    let (kind, wire) = name.split_once(':').unwrap_or((name, "chat"));
    let engine = |path: String| wire.parse::<Wire>()?.engine(&format!("{url}/{path}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match kind {
            "text" => work::text(&engine(format!("packed-{count}"))?)
                .await
                .map(drop),
            "arguments" => {
                let engine = engine(format!("packed-arguments-{count}"))?;
                work::arguments(&engine).await.map(drop)
            }
            "turns" => work::turns(&engine(format!("loop-{count}"))?, count)
                .await
                .map(drop),
            "scripted-turns" => work::scripted_turns(count).await.map(drop),
            "requests" => work::requests(&engine("text-10".to_owned())?, count).await,
            "thread" => work::thread(&engine("text-10".to_owned())?, count).await,
            "replies" => work::replies(count).await,
            "journal" => work::journal(count).await,
            "written" => work::written(count),
            "copied" => {
                let _ = work::copied(count);
                Ok(())
            }
            other => Err(format!("no work is called {other}").into()),
        }
    })
}
