//! What a call is made about.

use allm_core::{Message, Messages, Request, Thread};

use crate::engine::settings::Settings;

/// What a call is made about: text, a message, messages, a thread, or a whole request.
///
/// ```
/// use allm::{Engine, Fake, Message};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let fake = Fake::new().always("Hello.");
/// let engine = Engine::builder().provider(fake.clone()).model("fake:any").build()?;
/// let name = "Ada".to_owned();
/// engine.chat([Message::system("Be brief."), Message::user("Hi")]).text().await?;
/// fake.assert_last_user("Hi");
/// engine.chat(&name).text().await?;
/// fake.assert_last_user("Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

impl From<&String> for Input {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl<const N: usize> From<[Message; N]> for Input {
    fn from(messages: [Message; N]) -> Self {
        Vec::from(messages).into()
    }
}
