//! What a call is made about.

use allm_core::{Message, Messages, Request, Thread};

use crate::engine::settings::Settings;

/// What a call is made about: text, a message, messages, a thread, or a whole request.
#[derive(Clone, Debug)]
pub struct Input(Form);

#[derive(Clone, Debug)]
enum Form {
    Thread(Thread),
    Request(Box<Request>),
}

impl Input {
    /// The conversation, and what the request says as a level of settings.
    pub(crate) fn into_level(self) -> (Thread, Settings) {
        match self.0 {
            Form::Thread(thread) => (thread, Settings::default()),
            Form::Request(request) => {
                let level = Settings::of_request(&request);
                (Thread::from(request.messages), level)
            }
        }
    }
}

impl From<Thread> for Input {
    fn from(thread: Thread) -> Self {
        Self(Form::Thread(thread))
    }
}

impl From<&Thread> for Input {
    fn from(thread: &Thread) -> Self {
        Self(Form::Thread(thread.clone()))
    }
}

impl From<Request> for Input {
    fn from(request: Request) -> Self {
        Self(Form::Request(Box::new(request)))
    }
}

macro_rules! threads {
    ($($type:ty),+) => {$(
        impl From<$type> for Input {
            fn from(messages: $type) -> Self {
                Self(Form::Thread(messages.into()))
            }
        }
    )+};
}

threads!(&str, String, Message, Vec<Message>, Messages);
