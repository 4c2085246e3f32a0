//! The work with allm, by its ordinary calls.

mod tools;

#[cfg(feature = "all-wires")]
use allm::{Anthropic, Gemini};
use allm::{Api, Engine, Event, EventStream, Message, OpenAi, Thread};
use anyhow::{bail, ensure};
use bench_common::{
    Checked, MAX_TURNS, PROMPT, Plan, Scenario, Wire, at_once, first_token, in_turn, message,
};

fn main() -> anyhow::Result<()> {
    bench_common::run(work)
}

async fn work(plan: Plan) -> anyhow::Result<Checked> {
    let engine = engine(&plan)?;
    match plan.scenario {
        Scenario::Text | Scenario::Packed => read(engine.chat(PROMPT).stream()).await,
        Scenario::Arguments => read(engine.chat(PROMPT).tool(tools::note()).stream()).await,
        Scenario::Gaps => at_once(plan.count, || read(engine.chat(PROMPT).stream())).await,
        Scenario::Request => requests(&engine, plan.count).await,
        Scenario::Calls => {
            let engine = engine.with(|settings| settings.tool(tools::add()))?;
            in_turn(plan.count, || read(engine.chat(PROMPT).stream())).await
        }
        Scenario::Loop => {
            let engine = engine.with(|settings| settings.tool(tools::lookup()))?;
            let limit = u32::try_from(MAX_TURNS)?;
            read(engine.chat(PROMPT).max_turns(limit).stream()).await
        }
    }
}

/// An engine with the provider that the plan's wire belongs to.
fn engine(plan: &Plan) -> anyhow::Result<Engine> {
    let openai = |api| {
        OpenAi::new()
            .api(api)
            .base_url(format!("{}/v1", plan.root))
            .api_key("sk-of-nobody-at-all")
    };
    let builder = Engine::builder();
    let builder = match plan.wire {
        Wire::Chat => builder
            .provider(openai(Api::ChatCompletions))
            .model("openai:gpt-4.1-mini"),
        Wire::Responses => builder
            .provider(openai(Api::Responses))
            .model("openai:gpt-4.1-mini"),
        #[cfg(feature = "all-wires")]
        Wire::Anthropic => builder
            .provider(
                Anthropic::new()
                    .base_url(plan.root.clone())
                    .api_key("sk-of-nobody-at-all"),
            )
            .model("anthropic:claude-sonnet-4-5"),
        #[cfg(feature = "all-wires")]
        Wire::Gemini => builder
            .provider(
                Gemini::new()
                    .base_url(format!("{}/v1beta", plan.root))
                    .api_key("sk-of-nobody-at-all"),
            )
            .model("gemini:gemini-2.5-flash"),
        #[cfg(not(feature = "all-wires"))]
        Wire::Anthropic | Wire::Gemini => bail!("this client speaks to one provider"),
    };
    Ok(builder.build()?)
}

/// Reads a run to its end.
async fn read(mut events: EventStream) -> anyhow::Result<Checked> {
    let mut sum = Checked::default();
    let mut ended = false;
    while let Some(event) = events.next().await {
        match event {
            Event::TextDelta(piece) => {
                if sum.text_bytes == 0 {
                    first_token();
                }
                sum.text_bytes += piece.delta.len() as u64;
            }
            Event::ToolCallCompleted(call) => sum = sum.and(tools::checked(&call)?),
            Event::Error(event) => bail!("{:?}", event.error),
            Event::ChatCompleted(end) => {
                ensure!(end.result.failure().is_none(), "the run failed");
                ended = true;
            }
            _ => {}
        }
    }
    ensure!(ended, "the run was cut");
    Ok(sum)
}

/// The same long thread again and again.
async fn requests(engine: &Engine, count: usize) -> anyhow::Result<Checked> {
    let mut thread = Thread::new();
    for index in 0..199 {
        thread.push(if index % 2 == 0 {
            Message::user(message(index))
        } else {
            Message::assistant(message(index))
        });
    }
    let thread = thread.with_user(PROMPT);
    let mut sum = Checked::default();
    for _ in 0..count {
        sum.text_bytes += engine.chat(thread.clone()).text().await?.len() as u64;
    }
    Ok(sum)
}
