//! What a test asks of a fake afterwards.

use std::sync::Arc;

use allm_core::{Message, Request, Role};

use super::{Fake, FakeCall};

impl Fake {
    /// Every attempt that reached the fake, in the order of arrival.
    #[must_use]
    pub fn calls(&self) -> Vec<FakeCall> {
        self.shared.lock().log.calls.clone()
    }

    /// What was asked last.
    #[must_use]
    pub fn last_request(&self) -> Option<Arc<Request>> {
        let state = self.shared.lock();
        state.log.calls.last().map(|call| Arc::clone(&call.request))
    }

    /// How many streams are alive: polled, and neither ended nor dropped.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.shared.lock().log.open
    }

    /// How many streams were closed: exactly one for each that was polled, however it ended.
    #[must_use]
    pub fn cleanups(&self) -> usize {
        self.shared.lock().log.cleanups
    }

    /// How many streams were alive at once, at most.
    #[must_use]
    pub fn max_concurrent(&self) -> usize {
        self.shared.lock().log.peak
    }

    /// # Panics
    ///
    /// Unless this many attempts were made.
    #[track_caller]
    pub fn assert_calls(&self, expected: usize) {
        let found = self.calls();
        if found.len() != expected {
            let found = found.iter().map(|call| {
                format!(
                    "  attempt {} of {}: {:?}",
                    call.attempt, call.model, call.outcome
                )
            });
            fail(&format!("{expected} calls"), &listed("calls", found));
        }
    }

    /// # Panics
    ///
    /// Unless the last message of the user in the last request is this text.
    #[track_caller]
    pub fn assert_last_user(&self, expected: &str) {
        let request = self.last_request();
        let found = request
            .iter()
            .flat_map(|request| request.messages.iter().rev())
            .find(|message| message.role == Role::User)
            .map(|message| message.text());
        if found.as_deref() != Some(expected) {
            let found = match (&found, &request) {
                (Some(found), _) => format!("{found:?}"),
                (None, Some(_)) => "no user message".to_owned(),
                (None, None) => "no call".to_owned(),
            };
            fail(&format!("the last user message {expected:?}"), &found);
        }
    }

    /// # Panics
    ///
    /// Unless some request offered a tool of this name.
    #[track_caller]
    pub fn assert_sent_tool(&self, expected: &str) {
        let mut found: Vec<String> = Vec::new();
        for call in self.calls() {
            for name in call.request.tools.iter().filter_map(|tool| tool.name()) {
                if *name == expected {
                    return;
                }
                let shown = format!("  {name}");
                if !found.contains(&shown) {
                    found.push(shown);
                }
            }
        }
        let found = listed("tools", found.into_iter());
        fail(&format!("the tool {expected:?}"), &found);
    }

    /// Looks at the newest request that holds a result for the call of this id.
    ///
    /// # Panics
    ///
    /// Unless there is one and `is_right` says yes to its text.
    #[track_caller]
    pub fn assert_tool_result(&self, id: &str, is_right: impl FnOnce(&str) -> bool) {
        let calls = self.calls();
        let results = |call: &FakeCall| -> Vec<Arc<Message>> {
            let messages = call.request.messages.iter();
            messages
                .filter(|message| message.role == Role::Tool)
                .cloned()
                .collect()
        };
        let all: Vec<_> = calls.iter().rev().flat_map(results).collect();
        let is_of = |message: &&Arc<Message>| {
            let of = message.tool_call_id.as_ref();
            of.is_some_and(|of| *of == id)
        };
        let Some(result) = all.iter().find(is_of) else {
            let found = all.iter().map(|message| {
                let id = message.tool_call_id.as_ref().map_or("", |id| id.as_str());
                format!("  {id:?}: {:?}", message.text())
            });
            let found = listed("results", found);
            return fail(&format!("a result for the call {id:?}"), &found);
        };
        let text = result.text();
        if !is_right(&text) {
            fail(
                &format!("a result for the call {id:?} that the test accepts"),
                &format!("{text:?}"),
            );
        }
    }

    /// # Panics
    ///
    /// When a reply was not used. That of [`always`](Self::always) need not be.
    #[track_caller]
    pub fn assert_exhausted(&self) {
        let left = self.shared.lock().replies.left();
        if !left.is_empty() {
            let left = left.iter().map(|reply| format!("  {reply}"));
            fail("every reply used", &listed("replies left", left));
        }
    }
}

fn listed(what: &str, lines: impl ExactSizeIterator<Item = String>) -> String {
    let head = format!("{} {what}", lines.len());
    std::iter::once(head)
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

#[track_caller]
#[expect(clippy::panic, reason = "an assertion of a test")]
fn fail(expected: &str, found: &str) {
    panic!("expected: {expected}\n   found: {found}");
}
