//! Requests, their settings and the tools that they offer.

use allm_core::{
    Effort, FunctionSpec, JsonSchemaFormat, ModelRef, ParallelCalls, PromptCache, ProviderTool,
    Reasoning, Request, ResponseFormat, Retention, Strict, Summary, ToolChoice, ToolSpec,
    Verbosity,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::message::any_messages;
use super::text::{any_map, any_raw_json, any_text, any_tree, maybe_float, maybe_text, named};

pub(super) fn any_strict() -> impl Strategy<Value = Strict> {
    select(vec![Strict::Auto, Strict::Yes, Strict::No])
}

/// A tool as a provider is told of it.
pub(crate) fn any_tool_spec() -> BoxedStrategy<ToolSpec> {
    prop_oneof![
        (named(), any_text(), any_tree(), any_strict()).prop_map(
            |(name, description, schema, strict)| {
                ToolSpec::Function(FunctionSpec {
                    name,
                    description,
                    schema: schema.into(),
                    strict,
                })
            }
        ),
        (named(), any_raw_json()).prop_map(|(provider, definition)| ToolSpec::Provider(
            ProviderTool {
                provider,
                definition
            }
        )),
    ]
    .boxed()
}

fn any_choice() -> impl Strategy<Value = ToolChoice> {
    prop_oneof![
        select(vec![
            ToolChoice::Auto,
            ToolChoice::None,
            ToolChoice::Required
        ]),
        named().prop_map(ToolChoice::Tool),
        vec(named(), 0..3).prop_map(ToolChoice::AnyOf),
    ]
}

fn any_format() -> impl Strategy<Value = ResponseFormat> {
    prop_oneof![
        select(vec![ResponseFormat::Text, ResponseFormat::JsonObject]),
        (any_text(), any_tree(), any_strict()).prop_map(|(name, schema, strict)| {
            ResponseFormat::JsonSchema(JsonSchemaFormat {
                name,
                schema,
                strict,
            })
        }),
    ]
}

/// A provider's own word for the effort is any text, which reads as the known word where it is one.
fn any_reasoning() -> impl Strategy<Value = Reasoning> {
    let known = select(vec![
        "none", "minimal", "low", "medium", "high", "xhigh", "max",
    ]);
    let effort = prop_oneof![known.prop_map(str::to_owned), any_text()].prop_map(Effort::from);
    let summary = select(vec![Summary::Auto, Summary::Concise, Summary::Detailed]);
    (of(effort), any::<Option<u32>>(), of(summary)).prop_map(|(effort, budget_tokens, summary)| {
        Reasoning {
            effort,
            budget_tokens,
            summary,
        }
    })
}

fn any_model() -> impl Strategy<Value = ModelRef> {
    let models = vec![
        "openai:gpt-4.1-mini",
        "ollama:llama3.1:8b",
        "openrouter:a/b:free",
        "x-1_:\"\\é",
    ];
    select(models).prop_map(|text| text.parse().expect("a model"))
}

/// Any request, valid or not.
pub(crate) fn any_request() -> BoxedStrategy<Request> {
    let verbosity = select(vec![Verbosity::Low, Verbosity::Medium, Verbosity::High]);
    let retention = select(vec![Retention::Short, Retention::Long]);
    let cache =
        (maybe_text(), retention).prop_map(|(key, retention)| PromptCache { key, retention });
    let parallel = select(vec![ParallelCalls::Allowed, ParallelCalls::OneAtMost]);
    let asked = (
        any_messages(),
        of(any_model()),
        vec(any_tool_spec(), 0..2),
        of(any_choice()),
        of(parallel),
    );
    let numbers = (
        maybe_float(),
        maybe_float(),
        any::<Option<u32>>(),
        any::<Option<i64>>(),
        maybe_float(),
        maybe_float(),
        any::<Option<u32>>(),
    );
    let form = (
        vec(any_text(), 0..3),
        of(any_format()),
        of(any_reasoning()),
        of(verbosity),
        of(cache),
    );
    let rest = (maybe_text(), maybe_text(), any_map(), any_map());
    (asked, numbers, form, rest)
        .prop_map(|(asked, numbers, form, rest)| {
            let (messages, model, tools, tool_choice, parallel_tool_calls) = asked;
            let (temperature, top_p, top_k, seed, presence_penalty, frequency_penalty, max_tokens) =
                numbers;
            let (stop, response_format, reasoning, verbosity, prompt_cache) = form;
            let (service_tier, user, extra, metadata) = rest;
            Request {
                messages,
                model,
                tools,
                tool_choice,
                parallel_tool_calls,
                temperature,
                top_p,
                top_k,
                seed,
                presence_penalty,
                frequency_penalty,
                max_tokens,
                stop,
                response_format,
                reasoning,
                verbosity,
                prompt_cache,
                service_tier,
                user,
                extra,
                metadata,
            }
        })
        .boxed()
}
