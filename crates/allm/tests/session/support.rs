//! Engines, tools and a far side for the tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::session::{CallKey, Outcome, Session as Data};
use allm::{ApiKey, Effect, Engine, Fake, Map, Message, Tool, ToolContext, ToolReply};
use serde_json::{Value, json};

pub(crate) fn engine(fake: &Fake, tools: Vec<Tool>) -> Engine {
    Engine::builder()
        .provider(fake.clone())
        .model("fake:any")
        .tools(tools)
        .build()
        .expect("an engine")
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool::new(name, "A tool.", json!({"type": "object"}))
}

/// A tool that gives this.
pub(crate) fn giving(name: &str, value: Value) -> Tool {
    tool(name).handler(move |_: Value| {
        let value = value.clone();
        async move { Ok::<_, std::fmt::Error>(value) }
    })
}

/// A tool that asks this.
pub(crate) fn asking(name: &str, question: &str) -> Tool {
    let question = question.to_owned();
    tool(name).handler(move |_: Value| {
        let question = question.clone();
        async move { ToolReply::ask(question) }
    })
}

/// A tool that fails.
pub(crate) fn failing(name: &str) -> Tool {
    tool(name).handler(|_: Value| async { Err::<(), _>("it failed") })
}

/// A tool that ends the run.
pub(crate) fn halting(name: &str, reason: &str) -> Tool {
    let reason = reason.to_owned();
    tool(name).handler(move |_: Value| {
        let reason = reason.clone();
        async move { ToolReply::halt(reason, "enough") }
    })
}

pub(crate) fn manual(name: &str) -> Tool {
    tool(name).manual()
}

pub(crate) fn key(turn: u32, index: u32) -> CallKey {
    CallKey { turn, index }
}

pub(crate) fn map(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

fn show(message: &Message) -> String {
    let role = format!("{:?}", message.role).to_lowercase();
    format!("{role}: {}", message.text())
}

/// The conversation, a line for each message.
pub(crate) fn texts(session: &Data) -> Vec<String> {
    let thread = session.thread();
    thread.messages.iter().map(|m| show(m)).collect()
}

/// A message of the conversation.
pub(crate) fn message(session: &Data, place: usize) -> Arc<Message> {
    let thread = session.thread();
    Arc::clone(thread.messages.get(place).unwrap())
}

pub(crate) fn api_key() -> ApiKey {
    ApiKey::new("k").unwrap().unwrap()
}

/// What was sent with the request of this place.
pub(crate) fn sent(fake: &Fake, place: usize) -> Vec<String> {
    let calls = fake.calls();
    let messages = &calls[place].request.messages;
    messages.iter().map(|m| show(m)).collect()
}

/// What the calls of the last turn came to.
pub(crate) fn outcomes(session: &Data) -> Vec<Option<Outcome>> {
    let turn = session.open_turn();
    let calls = turn.iter().flat_map(|turn| turn.calls());
    calls.map(|call| call.outcome()).collect()
}

/// A tool that takes so long, and how many calls of it ran at once at the most.
pub(crate) fn crowded(name: &str, takes: Duration) -> (Tool, impl Fn() -> usize) {
    let counts = Arc::new(Mutex::new((0, 0)));
    let counted = Arc::clone(&counts);
    let tool = tool(name).handler(move |_: Value| {
        let counts = Arc::clone(&counts);
        async move {
            {
                let mut counts = counts.lock().unwrap();
                counts.0 += 1;
                counts.1 = counts.1.max(counts.0);
            }
            tokio::time::sleep(takes).await;
            counts.lock().unwrap().0 -= 1;
            Ok::<_, std::fmt::Error>("ok")
        }
    });
    (tool, move || counted.lock().unwrap().1)
}

/// A far side that counts what is done to it.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<Vec<Entered>>>);

/// That a handler was entered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entered {
    pub(crate) tool: String,
    pub(crate) key: String,
    pub(crate) arguments: Map,
}

impl World {
    fn enter(&self, arguments: Map, context: &ToolContext) -> usize {
        let mut entered = self.0.lock().unwrap();
        let tool = context.tool_call.name.to_string();
        entered.push(Entered {
            key: context.idempotency_key.to_string(),
            tool: tool.clone(),
            arguments,
        });
        entered.iter().filter(|one| one.tool == tool).count()
    }

    /// A tool that counts, and gives its arguments.
    pub(crate) fn tool(&self, name: &str) -> Tool {
        let world = self.clone();
        tool(name).handler(move |arguments: Map, context: ToolContext| {
            world.enter(arguments.clone(), &context);
            async move { Ok::<_, std::fmt::Error>(Value::Object(arguments)) }
        })
    }

    /// A tool that counts, and hangs the first times that it is entered.
    pub(crate) fn hanging(&self, name: &str, times: usize) -> Tool {
        let world = self.clone();
        tool(name).handler(move |arguments: Map, context: ToolContext| {
            let entered = world.enter(arguments, &context);
            async move {
                if entered <= times {
                    std::future::pending::<()>().await;
                }
                Ok::<_, std::fmt::Error>(json!("ok"))
            }
        })
    }

    /// A tool that counts, and hangs when it is entered for the first time.
    pub(crate) fn stuck(&self, name: &str, effect: Effect) -> Tool {
        let world = self.clone();
        let tool = tool(name).effect(effect);
        tool.handler(move |arguments: Map, context: ToolContext| {
            let times = world.enter(arguments, &context);
            async move {
                if times == 1 {
                    std::future::pending::<()>().await;
                }
                Ok::<_, std::fmt::Error>(json!({"times": times}))
            }
        })
    }

    /// A tool that counts, asks which one, and gives the answer and what it gave along with its question. It hangs when it
    /// is entered for the time of this number.
    pub(crate) fn going(&self, name: &str, effect: Effect, hangs: usize) -> Tool {
        let world = self.clone();
        let tool = tool(name).effect(effect);
        tool.handler(move |arguments: Map, context: ToolContext| {
            let times = world.enter(arguments, &context);
            async move {
                if times == hangs {
                    std::future::pending::<()>().await;
                }
                match context.answer {
                    None => {
                        let opts = map(json!({"schema": {"type": "string"}}));
                        ToolReply::ask_and_go_on_with("Which one?", opts, json!({"page": 2}))
                    }
                    Some(answer) => {
                        ToolReply::ok(&json!({"answer": answer.text(), "state": answer.state}))
                    }
                }
            }
        })
    }

    pub(crate) fn entered(&self) -> Vec<Entered> {
        self.0.lock().unwrap().clone()
    }

    /// How often a tool was entered.
    pub(crate) fn count(&self, name: &str) -> usize {
        let entered = self.entered();
        entered.iter().filter(|one| one.tool == name).count()
    }

    /// The keys that a tool saw.
    pub(crate) fn keys(&self, name: &str) -> Vec<String> {
        let entered = self.entered().into_iter();
        let of_tool = entered.filter(|one| one.tool == name);
        of_tool.map(|one| one.key).collect()
    }
}
