//! A driver that does what the machine says, by a script.

use std::collections::VecDeque;
use std::sync::Arc;

use allm_core::run::{
    CallToRun, Command, HaltAnswer, Input, Repair, Run, RunEnd, RunOptions, RunSetup, ToolOutcome,
};
use allm_core::{
    ChatResult, Event, Failure, FinishReason, Fold, Message, MessageCompleted, MessageStarted,
    Request, Response, StepResult, Thread, Tool, ToolCall, ToolCallCompleted, ToolCallDelta,
    ToolCallStarted, ToolExecutionStarted, json,
};

use super::check;
use super::script::{Answer, Reply, refusal, text};

type Handler = Box<dyn FnMut(&CallToRun) -> ToolOutcome>;

/// A run with its script.
pub(crate) struct Sim {
    pub(crate) run: Run,
    pub(crate) events: Vec<Event>,
    /// Every request that the provider saw.
    pub(crate) requests: Vec<Request>,
    answers: VecDeque<Answer>,
    handler: Handler,
    halt_when: HaltAnswer,
    /// In which order the calls of a batch end: the places among those that run.
    pub(crate) order: Vec<usize>,
    fold: Fold,
    given: Thread,
}

/// What a finished simulation leaves.
pub(crate) struct Ran {
    pub(crate) run: Run,
    pub(crate) events: Vec<Event>,
    pub(crate) requests: Vec<Request>,
}

pub(crate) fn setup(tools: Vec<Tool>) -> RunSetup {
    RunSetup {
        tools,
        ..RunSetup::new(Thread::from("hi"))
    }
}

pub(crate) fn options(options: RunOptions, tools: Vec<Tool>) -> RunSetup {
    RunSetup {
        options,
        ..setup(tools)
    }
}

impl Sim {
    pub(crate) fn new(setup: RunSetup, answers: impl IntoIterator<Item = Answer>) -> Self {
        let given = setup.thread.clone();
        let started = Run::start(setup).expect("the setup is valid");
        let mut sim = Self {
            run: started.run,
            events: Vec::new(),
            requests: Vec::new(),
            answers: answers.into_iter().collect(),
            handler: Box::new(|_| super::script::ok("done")),
            halt_when: HaltAnswer::GoOn,
            order: Vec::new(),
            fold: Fold::with_thread(given.clone()),
            given,
        };
        sim.emit(started.events);
        sim
    }

    pub(crate) fn tools(
        mut self,
        handler: impl FnMut(&CallToRun) -> ToolOutcome + 'static,
    ) -> Self {
        self.handler = Box::new(handler);
        self
    }

    pub(crate) fn halting(mut self) -> Self {
        self.halt_when = HaltAnswer::Halt;
        self
    }

    pub(crate) fn order(mut self, order: &[usize]) -> Self {
        self.order = order.to_vec();
        self
    }

    pub(crate) fn emit(&mut self, events: Vec<Event>) {
        for event in &events {
            if let Event::StepCompleted(step) = event {
                check::step_is_what_was_folded(&self.fold, step);
            }
            self.fold.push(event);
        }
        self.events.extend(events);
    }

    /// Gives an input, and checks what must hold after any.
    pub(crate) fn apply(&mut self, input: Input) {
        let events = self.run.apply(input).expect("the machine waits for this");
        self.emit(events);
        self.run = check::stored_and_restored(&self.run);
        check::thread_is_sendable_or_told(&self.run);
    }

    /// Plays the provider's events and gives the answer as it was folded.
    pub(crate) fn play(&mut self, events: Vec<Event>) -> Response {
        let mut repair = Repair::new(self.run.turn());
        for event in events {
            let event = repair.event(event);
            self.emit(vec![event]);
            if self.fold.is_terminated() {
                break;
            }
        }
        self.fold.response()
    }

    /// Does what the machine says, once.
    pub(crate) fn step(&mut self) {
        match self.run.command() {
            Command::CallModel(call) => {
                self.requests.push(call.request);
                let answer = self
                    .answers
                    .pop_front()
                    .unwrap_or_else(|| text("(no more)"));
                self.answer(answer);
            }
            Command::StopModel => self.apply(Input::stopped(None)),
            Command::RunTools(calls) => self.batch(calls),
            Command::StopTools(calls) => {
                for call in calls {
                    self.apply(Input::tool_done(call.index, ToolOutcome::NotStarted));
                }
            }
            Command::AskHaltWhen(_) => self.apply(Input::HaltWhen(self.halt_when)),
            command => panic!("nothing to do for {command:?}"),
        }
    }

    /// The next answer comes whole, although the machine wants the call stopped.
    pub(crate) fn answer_now(&mut self) {
        let answer = self.answers.pop_front().expect("an answer");
        self.answer(answer);
    }

    fn answer(&mut self, answer: Answer) {
        let (reply, terminal) = match answer {
            Answer::Refused => return self.apply(Input::refused(refusal())),
            Answer::Message(reply) => {
                let completed = completed(&reply);
                (reply, Some(completed))
            }
            Answer::Breaks(reply) => (reply, Some(Event::error(refusal()))),
            Answer::JustEnds(reply) => (reply, None),
        };
        let mut events = pieces(&reply);
        events.extend(terminal);
        let mut response = self.play(events);
        if let Some(end) = self.fold.missing_end() {
            self.emit(vec![end]);
            response = self.fold.response();
        }
        self.apply(Input::responded(response));
    }

    fn batch(&mut self, calls: Vec<CallToRun>) {
        let mut order: Vec<usize> = self.order.clone();
        order.retain(|place| *place < calls.len());
        order.extend((0..calls.len()).filter(|place| !self.order.contains(place)));
        for call in &calls {
            self.emit(vec![started(call)]);
        }
        for place in order {
            let call = &calls[place];
            let outcome = (self.handler)(call);
            self.finish(call, outcome);
        }
    }

    pub(crate) fn finish(&mut self, call: &CallToRun, outcome: ToolOutcome) {
        self.emit(outcome.events(call.index, &call.call));
        self.apply(Input::tool_done(call.index, outcome));
    }

    /// Goes on to the end.
    pub(crate) fn ran(mut self) -> Ran {
        while self.run.end().is_none() {
            self.step();
        }
        check::events_are_well_formed(&self.events);
        check::every_call_has_one_message_or_is_pending(&self.run);
        if let Some(result) = self.run.result() {
            assert_eq!(
                self.fold.chat_result().as_ref(),
                Ok(result),
                "fold = result"
            );
            check::survives_json(&**result);
        } else {
            let _ = &self.given;
        }
        for event in &self.events {
            check::survives_json(event);
        }
        Ran {
            run: self.run,
            events: self.events,
            requests: self.requests,
        }
    }
}

impl Ran {
    pub(crate) fn result(&self) -> &ChatResult {
        self.run.result().expect("a result")
    }

    pub(crate) fn reason(&self) -> &str {
        self.result().halted_reason.as_str()
    }

    pub(crate) fn step(&self, index: usize) -> &Arc<StepResult> {
        &self.run.steps()[index]
    }

    pub(crate) fn tags(&self) -> Vec<&'static str> {
        self.events.iter().map(Event::tag).collect()
    }

    /// The roles and texts of the conversation.
    pub(crate) fn thread(&self) -> Vec<String> {
        shown(&self.result().thread)
    }

    pub(crate) fn refused(&self) -> &Failure {
        match self.run.end() {
            Some(RunEnd::Refused(failure)) => failure,
            end => panic!("not refused: {end:?}"),
        }
    }
}

/// The roles and texts of a conversation.
pub(crate) fn shown(thread: &Thread) -> Vec<String> {
    let show = |message: &Arc<Message>| {
        let role = format!("{:?}", message.role).to_lowercase();
        let ids: Vec<&str> = message
            .tool_calls
            .iter()
            .map(|call| call.id.as_str())
            .collect();
        match &message.tool_call_id {
            Some(id) => format!("{role} {id}: {}", message.text()),
            None if ids.is_empty() => format!("{role}: {}", message.text()),
            None => format!("{role} [{}]: {}", ids.join(" "), message.text()),
        }
    };
    thread.messages.iter().map(show).collect()
}

pub(crate) fn started(call: &CallToRun) -> Event {
    Event::ToolExecutionStarted(Box::new(ToolExecutionStarted {
        index: call.index,
        id: call.call.id.clone(),
        name: call.call.name.clone(),
        arguments: call.call.arguments.clone().unwrap_or_default(),
    }))
}

/// The provider's events before its terminal one.
pub(crate) fn pieces(reply: &Reply) -> Vec<Event> {
    let mut events = vec![Event::MessageStarted(Box::new(MessageStarted {
        message: Message::assistant(vec![]),
        request_id: "request".into(),
        response_id: Some("response".into()),
        model: Some("model".into()),
    }))];
    if !reply.text.is_empty() {
        events.push(Event::text_delta(reply.text.as_str()));
    }
    for (index, call) in (0..).zip(&reply.calls) {
        events.push(Event::ToolCallStarted(ToolCallStarted {
            index,
            id: call.id.as_str().into(),
            name: call.name.clone().into(),
        }));
        events.push(Event::ToolCallDelta(ToolCallDelta {
            index,
            id: call.id.as_str().into(),
            arguments_delta: call.raw.as_str().into(),
        }));
        events.push(Event::ToolCallCompleted(Arc::new(ToolCallCompleted {
            index,
            id: call.id.as_str().into(),
            name: call.name.clone().into(),
            arguments: None,
            raw_arguments: call.raw.clone().into(),
            metadata: Default::default(),
        })));
    }
    events
}

/// The provider's completion.
pub(crate) fn completed(reply: &Reply) -> Event {
    let content = if reply.text.is_empty() {
        Message::assistant(vec![])
    } else {
        Message::assistant(reply.text.as_str())
    };
    let calls = reply.calls.iter();
    let calls = calls.map(|call| ToolCall::new(call.id.as_str(), &*call.name, &*call.raw));
    Event::MessageCompleted(Arc::new(MessageCompleted {
        finish_reason: reply.finish,
        raw_finish_reason: reply.raw_finish.clone(),
        usage: Some(reply.usage.clone()).filter(|usage| !usage.is_empty()),
        ..MessageCompleted::new(content.with_tool_calls(calls.collect()))
    }))
}

/// A run with this setup and script, to its end.
pub(crate) fn ran(setup: RunSetup, answers: impl IntoIterator<Item = Answer>) -> Ran {
    Sim::new(setup, answers).ran()
}

/// The finish reason of the last answer.
pub(crate) fn last_finish(ran: &Ran) -> Option<FinishReason> {
    ran.result()
        .final_response
        .as_ref()
        .and_then(|response| response.finish_reason)
}

pub(crate) fn failure_of(event: &Event) -> &Failure {
    match event {
        Event::Error(error) => &error.error,
        event => panic!("not an error: {event:?}"),
    }
}

pub(crate) fn bytes(run: &Run) -> Vec<u8> {
    json::to_vec(run).expect("a run can be stored")
}
