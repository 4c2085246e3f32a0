//! A whole request.

use std::collections::HashSet;

use super::faults::{Check, Faults, Place};
use super::schema::{self, Root, strict};
use super::{message, thread, tool};
use crate::data::{
    JsonSchemaFormat, Messages, ProviderName, Request, ResponseFormat, Strict, ToolChoice,
    ToolName, ToolSpec,
};
use crate::error::{Fault, FaultCode, ValidationError};
use crate::json::sorted_entries;
use crate::path::Path;

/// Keys of a body that only the library writes.
const OWN_KEYS: [&str; 5] = ["messages", "input", "contents", "model", "stream"];

/// Names under which keys and tokens travel, in any case.
const CREDENTIALS: [&str; 6] = [
    "api_key",
    "apikey",
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
];

/// Checks a request as far as that can be done without knowing who it goes to.
///
/// # Errors
///
/// All faults, in the order of the contract. The reason is that of the first: `invalid_message`, `invalid_thread`,
/// `invalid_tool` or `invalid_request`.
pub fn request(request: &Request) -> Result<(), ValidationError> {
    check(request, None)
}

/// Checks a request that goes to this provider: like [`request()`], and nothing in it may belong to another one.
///
/// # Errors
///
/// As for [`request()`].
pub fn request_for(request: &Request, provider: &ProviderName) -> Result<(), ValidationError> {
    check(request, Some(provider))
}

fn check(request: &Request, provider: Option<&ProviderName>) -> Result<(), ValidationError> {
    let mut faults = Faults::default();
    messages(&request.messages, provider, &mut faults);
    tool::check_specs(&request.tools, provider, &mut faults);
    numbers(request, &mut faults);
    for (index, text) in request.stop.iter().enumerate() {
        if text.is_empty() {
            let path = Path::from("stop").index(index);
            faults.add(Check::Stop, path, FaultCode::Empty);
        }
    }
    if let Some(choice) = &request.tool_choice {
        tool_choice(choice, &request.tools, &mut faults);
    }
    if let Some(ResponseFormat::JsonSchema(format)) = &request.response_format {
        response_format(format, &mut faults);
    }
    let cache_key = request.prompt_cache.as_ref().and_then(|c| c.key.as_deref());
    if cache_key == Some("") {
        let path = Path::from("prompt_cache").field("key");
        faults.add(Check::PromptCache, path, FaultCode::Empty);
    }
    let mut extra = sorted_entries(&request.extra);
    extra.retain(|(key, _)| is_reserved(key));
    for (key, _) in extra {
        let path = Path::from("extra").field(key.clone());
        faults.add(Check::Extra, path, FaultCode::ReservedKey);
    }
    faults.finish()
}

/// Noted about messages that are right, and may go to this provider.
struct Right {
    provider: Option<ProviderName>,
}

/// Checks the messages and their order. What was right before, and is the same, is not looked at again.
fn messages(messages: &Messages, provider: Option<&ProviderName>, faults: &mut Faults) {
    let known = messages.noted::<Right>();
    let known = known.filter(|(right, _)| right.provider.as_ref() == provider);
    let same = known.map_or(0, |(_, same)| same);
    for (index, message) in (same..).zip(messages.iter_from(same)) {
        let place = Place::Entry("messages", index);
        message::check(message, place, provider, faults);
    }
    thread::order(messages, same, faults);
    if faults.is_empty() && same < messages.len() {
        messages.note(Right {
            provider: provider.cloned(),
        });
    }
}

fn numbers(request: &Request, faults: &mut Faults) {
    // NaN is in no range.
    let penalty = |value: f64| (-2.0..=2.0).contains(&value);
    let ranged = [
        (
            "temperature",
            request.temperature.map(|t| (0.0..=2.0).contains(&t)),
        ),
        ("top_p", request.top_p.map(|p| p > 0.0 && p <= 1.0)),
        ("presence_penalty", request.presence_penalty.map(penalty)),
        ("frequency_penalty", request.frequency_penalty.map(penalty)),
    ];
    for (field, is_inside) in ranged {
        if is_inside == Some(false) {
            faults.add(Check::Range, field, FaultCode::OutOfRange);
        }
    }
    let budget = request.reasoning.as_ref().and_then(|r| r.budget_tokens);
    let positive = [
        (Path::from("max_tokens"), request.max_tokens),
        (Path::from("top_k"), request.top_k),
        (Path::from("reasoning").field("budget_tokens"), budget),
    ];
    for (path, value) in positive {
        if value == Some(0) {
            faults.add(Check::Positive, path, FaultCode::MustBePositive);
        }
    }
}

fn tool_choice(choice: &ToolChoice, tools: &[ToolSpec], faults: &mut Faults) {
    let names: &[ToolName] = match choice {
        ToolChoice::Auto | ToolChoice::None => return,
        ToolChoice::Required => &[],
        ToolChoice::Tool(name) => std::slice::from_ref(name),
        ToolChoice::AnyOf(names) => names,
    };
    let code = if tools.is_empty() {
        FaultCode::NoTools
    } else {
        let offered: HashSet<&ToolName> = tools.iter().filter_map(ToolSpec::name).collect();
        // A choice among no tools names none that is offered.
        let is_known = match choice {
            ToolChoice::AnyOf(names) if names.is_empty() => false,
            _ => names.iter().all(|name| offered.contains(name)),
        };
        if is_known {
            return;
        }
        FaultCode::UnknownTool
    };
    faults.add(Check::ToolChoice, "tool_choice", code);
}

fn response_format(format: &JsonSchemaFormat, faults: &mut Faults) {
    let path = |field: &'static str| Path::from("response_format").field(field);
    if !tool::is_name(&format.name) {
        faults.add(
            Check::ResponseFormat,
            path("name"),
            FaultCode::InvalidFormat,
        );
    }
    let found = schema::faults(&format.schema, Root::Any);
    // What is no schema cannot be judged as a strict one.
    if found.is_empty()
        && format.strict == Strict::Yes
        && let Some(place) = strict::not_strict_at(&format.schema)
    {
        let fault = Fault::new(path("schema"), FaultCode::NotStrict).detail(place);
        faults.put(Check::ResponseFormat, fault);
    }
    for fault in found {
        faults.put(Check::ResponseFormat, fault.at(path("schema")));
    }
}

fn is_reserved(key: &str) -> bool {
    OWN_KEYS.contains(&key)
        || CREDENTIALS
            .iter()
            .any(|name| name.eq_ignore_ascii_case(key))
}
