//! The same facts as numbers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::telemetry::{Measured, Metrics};
use allm::{AdapterReason, Fake, Script, Usage};

use super::builder;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

impl Metrics for Kept {
    fn record(&self, measured: &Measured<'_>) {
        let Measured {
            name,
            value,
            provider,
            request_model,
            ..
        } = measured;
        assert_eq!((*provider, *request_model), ("fake", "small"));
        let name = name.trim_start_matches("gen_ai.client.");
        let more = [
            measured.response_model,
            measured.token_type,
            measured.error_type,
        ];
        let more: Vec<&str> = more.into_iter().flatten().collect();
        self.0
            .lock()
            .unwrap()
            .push(format!("{name} {value} {}", more.join(" ")));
    }
}

#[tokio::test(start_paused = true)]
async fn numbers_of_a_call_that_ends_well() {
    let kept = Kept::default();
    let second = Duration::from_secs(1);
    let script = Script::new()
        .delay(second)
        .text("a")
        .delay(2 * second)
        .text("b")
        .delay(second)
        .model("m-2")
        .usage(Usage::io(20, 3));
    let fake = Fake::new().reply(script);
    let engine = builder(&fake).metrics(kept.clone()).build().expect("valid");
    engine.generate("hi").await.expect("an answer");
    let kept = kept.0.lock().unwrap();
    assert_eq!(
        kept[..2],
        [
            "operation.time_to_first_chunk 1 ",
            "operation.time_per_output_chunk 2 ",
        ]
    );
    assert_eq!(
        kept[kept.len() - 3..],
        [
            "operation.duration 4 m-2",
            "token.usage 20 m-2 input",
            "token.usage 3 m-2 output",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn numbers_of_a_call_that_fails() {
    let kept = Kept::default();
    let fake = Fake::new().reply(Script::new().fail(AdapterReason::AuthenticationFailed));
    let engine = builder(&fake).metrics(kept.clone()).build().expect("valid");
    engine.generate("hi").await.expect_err("refused");
    assert_eq!(
        *kept.0.lock().unwrap(),
        ["operation.duration 0 authentication_failed"]
    );
}
