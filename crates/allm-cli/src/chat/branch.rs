//! Taking back what was said: a journal is only ever added to, so that the conversation goes on in a new session that
//! begins with what stays. The old one is kept.

use allm::{Beginning, Message, Role, Thread};

use crate::problem::Problem;
use crate::session_id::create;

use super::conversation::Conversation;
use super::turn::{Op, Went};

/// The tag that names the session which a conversation was taken from.
const FROM: &str = "from";

impl Conversation {
    /// Goes on in a new session that begins with this.
    async fn branch(&mut self, thread: Thread) -> Result<(), Problem> {
        let mut beginning = Beginning::new()
            .thread(thread)
            .metadata(self.facts.write(self.session.metadata()));
        beginning.context = self.session.context().clone();
        beginning.tags = self.session.tags().clone();
        let from = self.session.id().as_str().to_owned();
        beginning.tags.insert(FROM.to_owned(), from.clone());
        self.session = create(&self.sessions, beginning).await?;
        let id = self.session.id();
        let note = format!("(session {id} from here on; {from} is kept as it was)");
        self.display.note(&note);
        Ok(())
    }

    /// Takes back the last thing that the person said, and what came of it.
    pub(super) async fn undo(&mut self) -> Result<Went, Problem> {
        match self.taken_back().await? {
            Some(said) => {
                self.display.note("(taken back; it can be said otherwise)");
                self.offered = Some(said.text());
            }
            None => self.display.tell("There is nothing to take back."),
        }
        Ok(Went::Nowhere)
    }

    /// Asks again: what failed is tried again, and what did not is said again.
    pub(super) async fn retry(&mut self) -> Result<Went, Problem> {
        if self.session.failure().is_some() && self.session.waits().is_empty() {
            return self.go(Some(Op::Retry)).await;
        }
        match self.taken_back().await? {
            Some(said) => {
                self.display.message(&said);
                self.go(Some(Op::Say(said.text()))).await
            }
            None => {
                self.display.tell("There is nothing to ask again.");
                Ok(Went::Nowhere)
            }
        }
    }

    /// Tells the model something else first.
    pub(super) async fn tell_first(&mut self, text: &str) -> Result<Went, Problem> {
        let old = self.session.thread();
        if allm::validate::sendable(&old.messages).is_err() {
            self.display
                .tell("Something is open; /resume first, and then change it.");
            return Ok(Went::Nowhere);
        }
        let mut thread = Thread::new().with(Message::system(text));
        for message in old
            .messages
            .iter()
            .filter(|message| message.role != Role::System)
        {
            thread.push(message.clone());
        }
        self.branch(thread).await?;
        Ok(Went::Nowhere)
    }

    async fn taken_back(&mut self) -> Result<Option<Message>, Problem> {
        let mut thread = self.session.thread();
        let Some(place) = last_said(&thread) else {
            return Ok(None);
        };
        let said = thread
            .messages
            .get(place)
            .map(|message| (**message).clone());
        thread.messages.truncate(place);
        self.branch(thread).await?;
        Ok(said)
    }
}

/// Where the last thing stands that the person said of their own accord.
fn last_said(thread: &Thread) -> Option<usize> {
    (0..thread.len()).rev().find(|place| {
        let message = thread.messages.get(*place);
        message.is_some_and(|message| message.role == Role::User) && !is_answer(thread, *place)
    })
}

/// Whether a message answers the question of a tool.
pub(super) fn is_answer(thread: &Thread, place: usize) -> bool {
    let before = place.checked_sub(1);
    let before = before.and_then(|before| thread.messages.get(before));
    before.is_some_and(|message| message.metadata.contains_key("ask_user"))
}
