//! How fast a model is here, as a line of JSON: `speed FILE THREADS`. `scripts/bench-local` compares it with llama.cpp.
//!
//! `as_stored_ms` and `as_q8_0_ms` are what the multiplications of one token take with the weights as they are in the file,
//! and turned into `Q8_0`, as allm does with kinds that have no fast arithmetic.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program that measures"
)]

use std::fs::File;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use allm::{Engine, Event, Request, Usage};
use allm_local::Local;
use candle_core::quantized::gguf_file::Content;
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module as _, Tensor};
use serde_json::json;

/// What is asked for a long answer.
const STORY: &str = "Write a long story about a fox.";
/// How many tokens of it are written.
const WRITTEN: u32 = 200;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("the path of a model");
    let threads = arguments.next().expect("the number of threads");
    let threads: NonZeroUsize = threads.parse().expect("a number of threads");
    let engine = Engine::builder()
        .provider(Local::new().threads(threads))
        .model(format!("local:{file}"))
        .build()
        .expect("an engine");

    let ask = async |text: &str, limit: u32| {
        let begun = Instant::now();
        let mut request = Request::new(text);
        request.max_tokens = Some(limit);
        let (mut first, mut usage) = (None, Usage::default());
        let mut events = engine.generate(request).stream();
        while let Some(event) = events.next().await {
            match event {
                Event::TextDelta(_) => {
                    first.get_or_insert_with(|| begun.elapsed());
                }
                Event::MessageCompleted(done) => usage = done.usage.clone().unwrap_or_default(),
                _ => {}
            }
        }
        (
            first.unwrap_or_default(),
            begun.elapsed(),
            usage.input_tokens.unwrap_or_default(),
            usage.output_tokens.unwrap_or_default(),
        )
    };
    let (loaded, ..) = ask("Hi", 2).await;
    let (first, whole, _, written) = ask(STORY, WRITTEN).await;
    let long = "The fox ran over the hill and looked at the moon. ".repeat(40);
    let (reading, _, read, _) = ask(&long, 2).await;
    let rate = |count: u64, time: Duration| count as f64 / time.as_secs_f64();
    let (kind, as_stored, as_q8_0) = multiplied(&file, threads).expect("a model's file");
    let measured = json!({
        "load_and_first_token_s": loaded.as_secs_f64(),
        "first_token_s": first.as_secs_f64(),
        "written_per_s": rate(written - 1, whole - first),
        "read_per_s": rate(read, reading),
        "stored_as": format!("{kind:?}"),
        "as_stored_ms": as_stored.as_secs_f64() * 1000.0,
        "as_q8_0_ms": as_q8_0.as_secs_f64() * 1000.0,
    });
    println!("{measured}");
}

/// What kind the weights of the layers are, and how long one row takes through all of them: as they are, and as `Q8_0`.
fn multiplied(
    path: &str,
    threads: NonZeroUsize,
) -> candle_core::Result<(GgmlDType, Duration, Duration)> {
    let mut file = File::open(path)?;
    let content = Content::read(&mut file)?;
    let mut names: Vec<&String> = content.tensor_infos.keys().collect();
    names.retain(|name| name.starts_with("blk.") && !name.contains("norm"));
    let mut kind = GgmlDType::F32;
    let (mut stored, mut turned) = (Vec::new(), Vec::new());
    for name in names {
        let tensor = content.tensor(&mut file, name, &Device::Cpu)?;
        kind = tensor.dtype();
        let plain = tensor.dequantize(&Device::Cpu)?;
        turned.push(QMatMul::from_qtensor(QTensor::quantize(
            &plain,
            GgmlDType::Q8_0,
        )?)?);
        stored.push((QMatMul::from_qtensor(tensor)?, plain.dim(1)?));
    }
    let rows = stored
        .iter()
        .map(|(_, width)| Tensor::ones((1, *width), DType::F32, &Device::Cpu));
    let rows = rows.collect::<candle_core::Result<Vec<_>>>()?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.get())
        .build();
    let pool = pool.map_err(candle_core::Error::wrap)?;
    let once = |weights: &mut dyn Iterator<Item = &QMatMul>| {
        let begun = Instant::now();
        for (weights, row) in weights.zip(&rows) {
            weights.forward(row)?;
        }
        Ok::<_, candle_core::Error>(begun.elapsed())
    };
    pool.install(|| {
        let mut best = (Duration::MAX, Duration::MAX);
        for _ in 0..20 {
            best.0 = best
                .0
                .min(once(&mut stored.iter().map(|(weights, _)| weights))?);
            best.1 = best.1.min(once(&mut turned.iter())?);
        }
        Ok((kind, best.0, best.1))
    })
}
