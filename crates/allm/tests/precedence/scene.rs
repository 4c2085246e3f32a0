//! What the model says in a case, the tools that it may call, and what is noted of both.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::{
    Adapter, AdapterReason, ApprovalRule, BoxStream, Cost, Event, Fake, KeyUse, Map, ModelCall,
    ProviderName, Script, Tool, ToolCall, ToolContext, Usage,
};
use serde_json::{Value, json};
use tokio::time::sleep;

/// What the model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    /// Text, in two pieces and with something raw, always.
    Text,
    /// Nothing but a failure that may be tried again.
    Busy,
    /// Text, after a long silence.
    Silent,
    /// One call of this tool, then text.
    Calls(&'static str),
    /// As `Calls`, with these arguments of three lengths.
    Arguments,
    /// Six calls at once, then text.
    Many,
    /// One call in every answer, each answer at a price.
    Endless,
}

pub(crate) const NOTE: Scene = Scene::Calls("note");
/// A tool that does not come back: the run is begun, dropped there and gone on with.
pub(crate) const STUCK: Scene = Scene::Calls("stuck");
pub(crate) const SILENCE: Duration = Duration::from_secs(1_000);

/// The lengths of what is given in the calls of [`Scene::Arguments`].
const LENGTHS: [usize; 3] = [10, 100, 1_000];

impl Scene {
    /// The calls of the first answer.
    pub(crate) fn calls(self) -> Vec<ToolCall> {
        let call = |place: usize, name: &str, arguments: Value| {
            ToolCall::new(format!("c{place}"), name, arguments.to_string())
        };
        match self {
            Self::Text | Self::Busy | Self::Silent => Vec::new(),
            Self::Calls(name) => vec![call(0, name, json!({}))],
            Self::Endless => vec![call(0, "note", json!({}))],
            Self::Many => (0..6).map(|place| call(place, "note", json!({}))).collect(),
            Self::Arguments => LENGTHS
                .into_iter()
                .enumerate()
                .map(|(place, length)| call(place, "note", json!({"x": "x".repeat(length)})))
                .collect(),
        }
    }

    fn fake(self) -> Fake {
        let text = || {
            let pieces = Script::new().text("a").raw("{}").text("b");
            pieces.usage(Usage::io(9, 1))
        };
        let usage = Usage {
            cost: Some(Cost {
                total: 1.0,
                input: None,
                output: None,
            }),
            ..Usage::io(9, 1)
        };
        let calling = self
            .calls()
            .into_iter()
            .fold(Script::new(), |script, call| {
                script.call_chunked(call.name.to_string(), [call.raw_arguments.to_string()])
            });
        match self {
            Self::Text => Fake::new().always(text()),
            Self::Busy => Fake::new().always(Script::new().fail(AdapterReason::RateLimited)),
            Self::Silent => Fake::new().always(Script::new().delay(SILENCE).text("late")),
            Self::Endless => Fake::new().always(calling.usage(usage)),
            Self::Calls(_) | Self::Arguments | Self::Many => {
                Fake::new().reply(calling).always(text())
            }
        }
    }
}

/// What was seen by those who take part.
#[derive(Default)]
pub(crate) struct Notes {
    /// What the adapter was given, one for each attempt.
    pub(crate) calls: Vec<ModelCall>,
    /// What the handler of `note` was told, one for each call.
    pub(crate) handled: Vec<ToolContext>,
    running: usize,
    /// How many handlers of `note` ran at once.
    pub(crate) peak: usize,
}

pub(crate) type Shared = Arc<Mutex<Notes>>;

/// An adapter that notes what it is given and plays the scene.
pub(crate) struct Probe {
    fake: Fake,
    notes: Shared,
}

impl Probe {
    pub(crate) fn new(scene: Scene, notes: &Shared) -> Self {
        Self {
            fake: scene.fake(),
            notes: Arc::clone(notes),
        }
    }
}

impl Adapter for Probe {
    fn provider(&self) -> &ProviderName {
        self.fake.provider()
    }

    fn key_use(&self) -> KeyUse {
        KeyUse::Optional
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        self.notes.lock().unwrap().calls.push(call.clone());
        self.fake.stream(call)
    }
}

/// `note`, `fails`, `slow`, `long`, `gated`, `left` and `stuck`.
pub(crate) fn tools(notes: &Shared) -> Vec<Tool> {
    let (notes, entered) = (Arc::clone(notes), Arc::clone(notes));
    let tool = |name: &str| Tool::new(name, "", json!({"type": "object"}));
    vec![
        tool("note").handler(move |_: Map, context: ToolContext| {
            let notes = Arc::clone(&notes);
            async move {
                {
                    let mut notes = notes.lock().unwrap();
                    notes.handled.push(context);
                    notes.running += 1;
                    notes.peak = notes.peak.max(notes.running);
                }
                sleep(Duration::from_millis(1)).await;
                notes.lock().unwrap().running -= 1;
                Ok::<_, String>("noted")
            }
        }),
        tool("fails").handler(|_: Map| async { Err::<(), _>("it failed") }),
        tool("slow").handler(|_: Map| async {
            sleep(SILENCE).await;
            Ok::<_, String>("late")
        }),
        tool("gated")
            .approval(ApprovalRule::Always)
            .handler(|_: Map| async { Ok::<_, String>("done") }),
        tool("left").manual(),
        tool("stuck").handler(move |_: Map, context: ToolContext| {
            entered.lock().unwrap().handled.push(context);
            std::future::pending::<Result<(), String>>()
        }),
        tool("long").handler(|_: Map| async { Ok::<_, String>("x".repeat(300_000)) }),
    ]
}
