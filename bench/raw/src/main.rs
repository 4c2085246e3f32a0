//! The bytes alone: reqwest and a split into lines, no JSON. What it sends was written before.

mod bodies;

use anyhow::ensure;
use bench_common::by_hand::{self, each_data};
use bench_common::{Checked, Plan, Scenario, Wire, at_once, first_token};
use memchr::memmem;
use reqwest::{Client, Response};

fn main() -> anyhow::Result<()> {
    bench_common::run(work)
}

async fn work(plan: Plan) -> anyhow::Result<Checked> {
    let client = Client::new();
    let body = || bodies::question(&plan);
    match plan.scenario {
        Scenario::Text | Scenario::Packed | Scenario::Arguments => {
            ask(&client, &plan, body()).await
        }
        Scenario::Gaps => {
            let one = || {
                let (client, plan, body) = (client.clone(), plan.clone(), body());
                async move { ask(&client, &plan, body).await }
            };
            at_once(plan.count, one).await
        }
        _ if plan.wire != Wire::Chat => plan.unsupported(),
        Scenario::Request => {
            let body = bodies::thread();
            let mut sum = Checked::default();
            for _ in 0..plan.count {
                let response = post(&client, &plan, body.clone()).await?;
                sum.text_bytes += response.bytes().await?.len() as u64;
            }
            Ok(sum)
        }
        Scenario::Calls => {
            let (first, second) = bodies::calls();
            let mut sum = Checked::default();
            for _ in 0..plan.count {
                for body in [&first, &second] {
                    sum = sum.and(ask(&client, &plan, body.clone()).await?);
                }
            }
            Ok(sum)
        }
        Scenario::Loop => {
            let mut history = bodies::History::new();
            let mut sum = Checked::default();
            for turn in 0..=plan.count {
                sum = sum.and(ask(&client, &plan, history.body()).await?);
                history.turn(turn);
            }
            Ok(sum)
        }
    }
}

async fn post(client: &Client, plan: &Plan, body: Vec<u8>) -> anyhow::Result<Response> {
    let path = match plan.wire {
        Wire::Chat => "/v1/chat/completions",
        Wire::Responses => "/v1/responses",
        Wire::Anthropic => "/v1/messages",
        Wire::Gemini => "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    };
    by_hand::post(client, format!("{}{path}", plan.root), body).await
}

/// One streamed answer; the bytes of its data.
async fn ask(client: &Client, plan: &Plan, body: Vec<u8>) -> anyhow::Result<Checked> {
    let response = post(client, plan, body).await?;
    let (mut bytes, mut last) = (0, Vec::new());
    each_data(response, |data| {
        if bytes == 0 {
            first_token();
        }
        bytes += data.len() as u64;
        last.clear();
        last.extend_from_slice(&data[..data.len().min(2000)]);
        Ok(())
    })
    .await?;
    let mark: &[u8] = match plan.wire {
        Wire::Chat => b"[DONE]",
        Wire::Responses => b"response.completed",
        Wire::Anthropic => b"message_stop",
        Wire::Gemini => b"finishReason",
    };
    ensure!(memmem::find(&last, mark).is_some(), "the answer was cut");
    Ok(Checked {
        text_bytes: bytes,
        ..Checked::default()
    })
}
