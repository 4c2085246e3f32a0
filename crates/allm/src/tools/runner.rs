//! Running calls without an engine.

mod options;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use allm_core::run::{CallToRun, DeadlineScope, HaltFacts, Stop, ToolOutcome, UnknownTools};
use allm_core::{
    CallFailure, EngineError, Error, Event, FailureReason, HaltReason, Map, Message, Tool,
    ToolCall, ToolResultEncoded, encode,
};
use futures_core::Stream;

use super::batch::{Attempts, BatchItem, BatchRun};
use super::toolset::ToolSet;

use options::Resolved;
pub use options::ToolRunOptions;

/// Runs calls with these tools, in parallel, and gives their results in call order.
///
/// It looks at neither the [`manual`](Tool::manual) flag nor a mode: it runs what it is given.
///
/// ```
/// use allm::{Tool, ToolCall, ToolRunOptions, run_tool_calls};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let echo = Tool::new("echo", "Repeats its arguments.", json!({"type": "object"}))
///     .handler(|value: Value| async move { Ok::<_, std::fmt::Error>(value) });
/// let call = ToolCall::new("call-1", "echo", r#"{"x": 1}"#);
/// let batch = run_tool_calls(vec![call], &[echo], ToolRunOptions::new()).await?;
/// assert_eq!(batch.messages[0].text(), r#"{"x":1}"#);
/// # Ok::<_, allm::Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
///
/// A wrong setting or tool, and a call that names no tool unless the options say
/// [`UnknownTools::TellModel`]; no handler has run then.
///
/// # Cancel safety
///
/// Dropping the future stops the calls: async handlers at their next await, child processes at once; blocking handlers
/// are abandoned. Nothing happens before it is polled.
pub fn run_tool_calls(
    calls: Vec<ToolCall>,
    tools: &[Tool],
    options: ToolRunOptions,
) -> impl Future<Output = Result<ToolBatch, Error>> + Send + use<> {
    let mut items = Items::new(calls, tools, options);
    async move {
        let mut messages: Vec<Option<Message>> = Vec::new();
        let mut halts = Vec::new();
        while let Some(item) = poll_fn(|cx| items.poll_next(cx)).await {
            let Item::Done(done) = item? else { continue };
            if messages.len() <= done.place {
                messages.resize(done.place + 1, None);
            }
            halts.extend(done.halt.map(|halt| (done.place, halt)));
            if let Some(place) = messages.get_mut(done.place) {
                *place = done.message;
            }
        }
        let first = halts.into_iter().min_by_key(|(place, _)| *place);
        let halt = match items.stopped {
            Some(stop) => Some(BatchHalt::Stopped(stop)),
            None => first.map(|(_, halt)| BatchHalt::Call(halt)),
        };
        Ok(ToolBatch {
            messages: messages.into_iter().flatten().collect(),
            halt,
        })
    }
}

/// Runs calls with these tools, in parallel, and tells what happens: [`run_tool_calls`] as a stream.
///
/// A run that is refused is a stream of one [`Event::Error`].
///
/// # Cancel safety
///
/// Dropping the stream stops the calls, as with [`run_tool_calls`]. Nothing happens before it is polled; once it has
/// been, the calls go on while nobody polls.
pub fn stream_tool_calls(
    calls: Vec<ToolCall>,
    tools: &[Tool],
    options: ToolRunOptions,
) -> ToolEvents {
    ToolEvents {
        items: Items::new(calls, tools, options),
        ready: VecDeque::new(),
    }
}

/// The results of a batch of calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolBatch {
    /// One message for each call, in call order; none for a call whose handler asked to go on with the answer.
    pub messages: Vec<Message>,
    /// What speaks against going on: that of the lowest index among the calls that halted, unless the whole batch was
    /// stopped.
    pub halt: Option<BatchHalt>,
}

/// Why a run should not go on after a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BatchHalt {
    /// A call asked a person, ended the run, or failed under a halting policy.
    Call(HaltFacts),
    /// The batch was stopped from outside before it had ended on its own.
    Stopped(Stop),
}

impl BatchHalt {
    /// The reason.
    #[must_use]
    pub fn reason(&self) -> HaltReason {
        match self {
            Self::Call(halt) => halt.reason(),
            Self::Stopped(Stop::Cancelled) => HaltReason::Cancelled,
            Self::Stopped(Stop::Deadline(_)) => HaltReason::DeadlineExceeded,
        }
    }

    /// The keys that it has in metadata, `halted_reason` among them.
    #[must_use]
    pub fn into_metadata(self) -> Map {
        match self {
            Self::Call(halt) => halt.into_metadata(),
            Self::Stopped(_) => {
                let reason = self.reason().as_str().into();
                Map::from_iter([("halted_reason".to_owned(), reason)])
            }
        }
    }
}

/// What happens while calls run; made by [`stream_tool_calls`].
#[must_use = "streams do nothing unless polled"]
pub struct ToolEvents {
    items: Items,
    ready: VecDeque<Event>,
}

impl Stream for ToolEvents {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(event));
            }
            match std::task::ready!(self.items.poll_next(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Event::error(error))),
                Some(Ok(Item::Event(event))) => return Poll::Ready(Some(event)),
                Some(Ok(Item::Done(done))) => self.ready.extend(done.events),
            }
        }
    }
}

impl fmt::Debug for ToolEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEvents").finish_non_exhaustive()
    }
}

/// What both forms are made of.
enum Item {
    Event(Event),
    Done(Box<Done>),
}

/// A call that came to its end, or asks to go on and has no message.
struct Done {
    place: usize,
    message: Option<Message>,
    halt: Option<HaltFacts>,
    events: Vec<Event>,
}

struct Items {
    state: State,
    /// Set when the batch was stopped before it had ended on its own.
    stopped: Option<Stop>,
}

enum State {
    Given(Box<Given>),
    Running(Box<Running>),
    Ended,
}

struct Given {
    calls: Vec<ToolCall>,
    tools: Vec<Tool>,
    options: ToolRunOptions,
}

struct Running {
    calls: Vec<ToolCall>,
    run: BatchRun,
    /// Calls that the library answers when the batch has drained.
    closing: BTreeMap<usize, CallFailure>,
    /// Set when the batch was stopped before it began.
    stopped: Option<Stop>,
}

impl Items {
    fn new(calls: Vec<ToolCall>, tools: &[Tool], options: ToolRunOptions) -> Self {
        let tools = tools.to_vec();
        Self {
            state: State::Given(Box::new(Given {
                calls,
                tools,
                options,
            })),
            stopped: None,
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Item, Error>>> {
        loop {
            match &mut self.state {
                State::Ended => return Poll::Ready(None),
                State::Given(_) => {
                    let State::Given(given) = std::mem::replace(&mut self.state, State::Ended)
                    else {
                        return Poll::Ready(None);
                    };
                    match given.start() {
                        Ok(running) => self.state = State::Running(Box::new(running)),
                        Err(error) => return Poll::Ready(Some(Err(error))),
                    }
                }
                State::Running(running) => match running.poll_next(cx) {
                    Poll::Ready(None) => {
                        self.stopped = running.stopped();
                        self.state = State::Ended;
                    }
                    item => return item.map(|item| item.map(Ok)),
                },
            }
        }
    }
}

impl Given {
    fn start(self) -> Result<Running, Error> {
        let Resolved {
            settings,
            unknown_tools,
        } = self.options.resolve()?;
        let tools = ToolSet::new(&self.tools)?;
        let mut closing = BTreeMap::new();
        let mut batch = Vec::new();
        let cancel = settings.cancel.clone();
        let mut stopped = None;
        for ((place, call), index) in self.calls.iter().enumerate().zip(0_u32..) {
            let name = call.original_name();
            if tools.get(name).is_none() {
                if unknown_tools == UnknownTools::Refuse {
                    return Err(EngineError::unknown_tool(name).into());
                }
                let names = tools.list().iter().map(|tool| &tool.name);
                closing.insert(place, encode::unknown_tool(name, names));
            } else if cancel.is_cancelled() {
                // Nothing begins, so nothing has to be stopped.
                stopped = Some(Stop::Cancelled);
                closing.insert(place, closed(Stop::Cancelled, call));
            } else {
                let call = Arc::new(call.clone());
                batch.push(CallToRun { index, call });
            }
        }
        let deadline = self.options.deadline;
        let mut run = BatchRun::start(batch, tools, Arc::new(settings), 0, Attempts::default());
        let over = deadline.map(|limit| (limit, Stop::Deadline(DeadlineScope::Run)));
        run.stop_when(cancel, over);
        Ok(Running {
            calls: self.calls,
            run,
            closing,
            stopped,
        })
    }
}

impl Running {
    fn stopped(&self) -> Option<Stop> {
        self.stopped.or_else(|| self.run.stopped())
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        while let Some(item) = std::task::ready!(Pin::new(&mut self.run).poll_next(cx)) {
            let (index, outcome, events) = match item {
                BatchItem::Event(event) => return Poll::Ready(Some(Item::Event(event))),
                BatchItem::Done {
                    index,
                    outcome,
                    events,
                } => (index, outcome, events),
            };
            let place = usize::try_from(index).unwrap_or(usize::MAX);
            let Some(call) = self.calls.get(place) else {
                continue;
            };
            if outcome == ToolOutcome::NotStarted {
                let stop = self.run.stopped().unwrap_or(Stop::Cancelled);
                self.closing.insert(place, closed(stop, call));
                continue;
            }
            return Poll::Ready(Some(Item::Done(Box::new(Done {
                place,
                message: outcome.message(call),
                halt: HaltFacts::of_outcome(call, &outcome),
                events,
            }))));
        }
        Poll::Ready(self.close_next())
    }

    /// Closed calls come last, in call order, with one event each.
    fn close_next(&mut self) -> Option<Item> {
        let (place, failure) = self.closing.pop_first()?;
        let call = self.calls.get(place)?;
        let content = failure.to_content();
        Some(Item::Done(Box::new(Done {
            place,
            message: Some(Message::tool_error(call.id.clone(), &*content)),
            halt: None,
            events: vec![Event::ToolResultEncoded(ToolResultEncoded {
                index: u32::try_from(place).unwrap_or(u32::MAX),
                id: call.id.clone(),
                content,
                media: Vec::new(),
                is_error: true,
            })],
        })))
    }
}

fn closed(stop: Stop, call: &ToolCall) -> CallFailure {
    let reason = match stop {
        Stop::Cancelled => FailureReason::Cancelled,
        Stop::Deadline(_) => FailureReason::DeadlineExceeded,
    };
    encode::closed(reason, call.original_name())
}
