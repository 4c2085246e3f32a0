//! Calls of tools, a line each for their beginning, how far they are, and their end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use allm::{CallFailure, Event, ExecutionResult, ToolProgress};
use serde_json::Value;

/// What a line tells of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It begins.
    Begun,
    /// It says how far it is.
    Goes,
    /// It gave a result.
    Done,
    /// It did not.
    Failed,
}

impl Mark {
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Begun => "→",
            Self::Goes => "…",
            Self::Done => "✓",
            Self::Failed => "✗",
        }
    }
}

/// The calls of a turn.
#[derive(Debug, Default)]
pub(super) struct Calls(BTreeMap<u32, Call>);

#[derive(Debug, Default)]
struct Call {
    name: String,
    begun: Option<Instant>,
    /// What was last said of it.
    last: String,
    is_over: bool,
}

impl Calls {
    /// A call of the turn has this name.
    pub(super) fn know(&mut self, index: u32, name: &str) {
        name.clone_into(&mut self.0.entry(index).or_default().name);
    }

    /// The turn is over.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// The line for an event.
    pub(super) fn line(&mut self, event: &Event) -> Option<(Mark, String)> {
        match event {
            Event::ToolExecutionStarted(started) => {
                self.know(started.index, &started.name);
                let name = self.name(started.index);
                let call = self.0.entry(started.index).or_default();
                call.begun = Some(Instant::now());
                call.is_over = false;
                let arguments = match started.arguments.is_empty() {
                    true => String::new(),
                    false => Value::Object((*started.arguments).clone()).to_string(),
                };
                Some((Mark::Begun, called(&name, &arguments)))
            }
            Event::ToolProgress(progress) => {
                let name = self.name(progress.index);
                let line = format!("{name} {}", how_far(progress));
                let call = self.0.entry(progress.index).or_default();
                if call.last == line {
                    return None;
                }
                call.last.clone_from(&line);
                Some((Mark::Goes, line))
            }
            Event::ToolExecutionCompleted(completed) => {
                let name = self.name(completed.index);
                let call = self.0.entry(completed.index).or_default();
                let time = call.begun.map(|begun| seconds(begun.elapsed()));
                call.is_over = true;
                let time = time.map_or_else(String::new, |time| format!(" {time}"));
                Some(match &completed.result {
                    ExecutionResult::Error(failure) => {
                        (Mark::Failed, format!("{name}{time}: {}", in_words(failure)))
                    }
                    ExecutionResult::AskUser { .. } => (Mark::Goes, format!("{name} asks{time}")),
                    ExecutionResult::Halt { reason, .. } => {
                        (Mark::Done, format!("{name} ended the run: {reason}{time}"))
                    }
                    _ => (Mark::Done, format!("{name}{time}")),
                })
            }
            // What never ran has nothing but its answer for the model.
            Event::ToolResultEncoded(encoded) if encoded.is_error => {
                let name = self.name(encoded.index);
                let call = self.0.entry(encoded.index).or_default();
                if call.is_over {
                    return None;
                }
                call.is_over = true;
                Some((Mark::Failed, format!("{name}: {}", told(&encoded.content))))
            }
            _ => None,
        }
    }

    /// What a call is called: by its tool, and by its place where the tool is called twice.
    fn name(&self, index: u32) -> String {
        let Some(call) = self.0.get(&index) else {
            return format!("call {}", index + 1);
        };
        let same: Vec<u32> = self
            .0
            .iter()
            .filter(|(_, other)| other.name == call.name)
            .map(|(index, _)| *index)
            .collect();
        match same.iter().position(|other| *other == index) {
            Some(place) if same.len() > 1 => format!("{} #{}", call.name, place + 1),
            _ => call.name.clone(),
        }
    }
}

/// A call as it is written.
pub(crate) fn called(name: &str, arguments: &str) -> String {
    let arguments = match arguments {
        "{}" => "",
        arguments => arguments,
    };
    format!("{name}({arguments})")
}

fn how_far(progress: &ToolProgress) -> String {
    let far = match (progress.progress, progress.total) {
        (Some(done), Some(total)) if total > 0.0 => {
            Some(format!("{:.0} %", (done / total * 100.0).clamp(0.0, 100.0)))
        }
        (Some(done), _) => Some(format!("{done}")),
        _ => None,
    };
    let parts = [far, progress.message.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn in_words(failure: &CallFailure) -> String {
    let mut text = failure.message.clone();
    for fault in &failure.faults {
        text = format!("{text}; {}: {}", fault.path, fault.message);
    }
    text
}

/// What the model is told of a failure, for a person.
fn told(content: &str) -> String {
    let value: Option<Value> = serde_json::from_str(content).ok();
    let message = value
        .as_ref()
        .and_then(|value| value.pointer("/error/message")?.as_str());
    message.unwrap_or(content).to_owned()
}

fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        seconds if seconds < 60.0 => format!("{seconds:.1} s"),
        seconds => format!(
            "{:.0} min {:02.0} s",
            (seconds / 60.0).floor(),
            seconds % 60.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use allm::{ToolExecutionCompleted, ToolExecutionStarted, ToolResultEncoded};
    use serde_json::json;

    use super::*;

    fn progress(done: f64, total: Option<f64>, message: Option<&str>) -> Event {
        Event::ToolProgress(Box::new(ToolProgress {
            index: 0,
            id: "a".into(),
            progress: Some(done),
            total,
            message: message.map(str::to_owned),
        }))
    }

    #[test]
    fn how_far_a_call_is_is_told_once() {
        let mut calls = Calls::default();
        calls.know(0, "copy");
        let line = |text: &str| Some((Mark::Goes, text.to_owned()));
        let half = progress(1.0, Some(2.0), Some("a.txt"));
        assert_eq!(calls.line(&half), line("copy 50 % a.txt"));
        assert_eq!(calls.line(&half), None);
        assert_eq!(calls.line(&progress(7.0, None, None)), line("copy 7"));
    }

    #[test]
    fn a_failure_is_told_once_whether_the_call_ran_or_not() {
        let mut calls = Calls::default();
        let failure = CallFailure::new(allm::FailureReason::Reported, "no\nway");
        let told = Event::ToolResultEncoded(ToolResultEncoded {
            index: 0,
            id: "a".into(),
            content: failure.to_content(),
            media: Vec::new(),
            is_error: true,
        });
        calls.know(0, "pay");
        let line = Some((Mark::Failed, "pay: no\nway".to_owned()));
        assert_eq!(calls.line(&told), line);
        assert_eq!(calls.line(&told), None);

        let mut calls = Calls::default();
        let begun = Event::ToolExecutionStarted(Box::new(ToolExecutionStarted {
            index: 0,
            id: "a".into(),
            name: "pay".into(),
            arguments: std::sync::Arc::default(),
        }));
        let ended = Event::ToolExecutionCompleted(Box::new(ToolExecutionCompleted {
            index: 0,
            id: "a".into(),
            name: "pay".into(),
            result: ExecutionResult::Error(failure),
        }));
        assert_eq!(calls.line(&begun), Some((Mark::Begun, "pay()".to_owned())));
        let line = Some((Mark::Failed, "pay 0.0 s: no\nway".to_owned()));
        assert_eq!(calls.line(&ended), line);
        assert_eq!(calls.line(&told), None);
    }

    #[test]
    fn a_tool_that_ends_the_run_says_why() {
        let mut calls = Calls::default();
        calls.know(0, "stop");
        let ended = Event::ToolExecutionCompleted(Box::new(ToolExecutionCompleted {
            index: 0,
            id: "a".into(),
            name: "stop".into(),
            result: ExecutionResult::Halt {
                reason: "enough".to_owned(),
                value: json!(1),
            },
        }));
        let line = (Mark::Done, "stop ended the run: enough".to_owned());
        assert_eq!(calls.line(&ended), Some(line));
    }

    #[test]
    fn times() {
        assert_eq!(seconds(Duration::from_millis(340)), "0.3 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 05 s");
    }
}
