//! What is played.

use std::sync::Arc;

use allm::{Fake, Request, Role, Script, StreamReason};
use serde_json::json;

use crate::points::Points;

/// A conversation that plays itself: what the user says, and what the model answers. The model goes by the conversation
/// alone, so that a program that takes over hears the same.
#[derive(Debug)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What the user says, one after the other, when nothing else is to be done.
    pub says: &'static [&'static str],
    /// What the model answers.
    pub answers: Vec<Answer>,
    /// Whether the answer is asked for in a second pass.
    pub structured: bool,
    /// Whether a policy is asked about every call and they are run one after the other, so that the answer, the plan and
    /// each intent are durable by themselves.
    pub guarded: bool,
}

/// What the model answers when the user last said this, and the model has answered so many times since.
#[derive(Debug)]
pub struct Answer {
    said: &'static str,
    answered: usize,
    script: Script,
    /// Whether the user loses patience as soon as the model is asked.
    cancels: bool,
}

fn answer(said: &'static str, answered: usize, script: impl Into<Script>) -> Answer {
    Answer {
        said,
        answered,
        script: script.into(),
        cancels: false,
    }
}

/// Calls of these tools; the id of each is its name and place.
fn calls(text: &str, tools: &[&str]) -> Script {
    let begin = Script::new().text(text);
    tools
        .iter()
        .enumerate()
        .fold(begin, |script, (place, tool)| {
            let id = format!("{text}-{tool}-{place}");
            script.call_with_id(id, *tool, json!({"place": place}))
        })
}

/// The user message that opens the second pass.
pub const NUDGE: &str = "As JSON, please.";

/// What the user says when a tool runs that asks for it.
pub const MEANWHILE: &str = "By the way";

/// What the user answers to questions.
pub const YES: &str = "Yes";

/// What the user answers a tool that goes on with it: to each call something of its own.
#[must_use]
pub fn answer_to(index: u32) -> String {
    format!("{YES}, {index}")
}

impl Scenario {
    /// The names of all that are played at every position.
    pub const ALL: [&'static str; 14] = [
        "text", "four", "five", "same", "guarded", "ask", "approval", "manual", "retry", "cancel",
        "finalize", "send", "going", "all",
    ];

    /// The scenario of this name.
    ///
    /// # Panics
    ///
    /// When there is none.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let broken = || {
            Script::new()
                .text("Hal")
                .stream_fail(StreamReason::Interrupted)
        };
        let (says, answers): (&[&str], Vec<Answer>) = match name {
            "text" => (
                &["Hello", "More"],
                vec![
                    answer("Hello", 0, Script::new().chunks(["Hi ", "there"])),
                    answer("More", 0, "Enough"),
                ],
            ),
            "four" | "guarded" => (
                &["Work"],
                vec![
                    answer("Work", 0, calls("a", &["pure", "idem", "recon", "once"])),
                    answer("Work", 1, "Done"),
                ],
            ),
            "five" => (
                &["Work"],
                vec![
                    answer(
                        "Work",
                        0,
                        calls("a", &["once", "recon", "idem", "pure", "idem"]),
                    ),
                    answer("Work", 1, "Done"),
                ],
            ),
            "same" => (
                &["Work"],
                vec![
                    answer("Work", 0, calls("a", &["once", "once", "idem", "idem"])),
                    answer("Work", 1, calls("b", &["recon", "recon", "pure_failing"])),
                    answer("Work", 2, "Done"),
                ],
            ),
            "ask" => (
                &["Ask me"],
                vec![
                    answer("Ask me", 0, calls("a", &["pure_ask", "idem"])),
                    answer(YES, 0, "Thanks"),
                ],
            ),
            "approval" => (
                &["Pay"],
                vec![
                    answer(
                        "Pay",
                        0,
                        calls(
                            "a",
                            &[
                                "idem_gated",
                                "pure",
                                "once_gated",
                                "once_denied",
                                "recon_gated",
                            ],
                        ),
                    ),
                    answer("Pay", 1, "Paid"),
                ],
            ),
            "manual" => (
                &["Fetch"],
                vec![
                    answer("Fetch", 0, calls("a", &["manual", "once", "manual"])),
                    answer("Fetch", 1, "Fetched"),
                ],
            ),
            "retry" => (
                &["Fail", "Again"],
                vec![
                    answer("Fail", 0, broken()),
                    answer("Fail", 0, calls("a", &["idem", "once", "recon", "pure"])),
                    answer("Fail", 1, broken()),
                    answer("Fail", 1, "Fine"),
                    answer("Again", 0, "Fine again"),
                ],
            ),
            "cancel" => (
                &["Start", "Stall", "Go on"],
                vec![
                    answer("Start", 0, calls("a", &["once", "idem"])),
                    answer(
                        "Start",
                        1,
                        calls("b", &["once_hang", "pure_hang", "manual"]),
                    ),
                    Answer {
                        cancels: true,
                        ..answer("Stall", 0, Script::new().hang())
                    },
                    answer("Go on", 0, "Gone on"),
                ],
            ),
            "finalize" => (
                &["Report"],
                vec![
                    answer("Report", 0, calls("a", &["idem", "once", "recon", "pure"])),
                    answer("Report", 1, "All is well"),
                    answer(NUDGE, 0, r#"{"well": true}"#),
                ],
            ),
            "send" => (
                &["Look"],
                vec![
                    answer("Look", 0, calls("a", &["pure_meanwhile", "idem"])),
                    answer(MEANWHILE, 0, "Noted"),
                ],
            ),
            "going" => (
                &["Work"],
                vec![
                    answer(
                        "Work",
                        0,
                        calls(
                            "a",
                            &["pure_going", "idem_going", "recon_going", "once_going"],
                        ),
                    ),
                    answer("Work", 1, "Done"),
                ],
            ),
            "all" => (
                &["Do it all", "Fail", "Stall", "Bye"],
                vec![
                    answer(
                        "Do it all",
                        0,
                        calls(
                            "a",
                            &[
                                "pure",
                                "idem",
                                "recon",
                                "once",
                                "pure_ask",
                                "once_gated",
                                "manual",
                            ],
                        ),
                    ),
                    answer(YES, 0, "Done"),
                    answer("Fail", 0, broken()),
                    answer("Fail", 0, "Fine"),
                    Answer {
                        cancels: true,
                        ..answer("Stall", 0, Script::new().hang())
                    },
                    answer("Bye", 0, "Bye"),
                ],
            ),
            "deadly" => (
                &["Work"],
                vec![
                    answer("Work", 0, calls("a", &["idem"])),
                    answer("Work", 1, "Done"),
                ],
            ),
            "reconcile" | "slow" => (
                &["Work"],
                vec![
                    match name {
                        "slow" => answer("Work", 0, calls("a", &["recon_slow", "idem"])),
                        _ => answer("Work", 0, calls("a", &["recon", "idem"])),
                    },
                    answer("Work", 1, "Done"),
                ],
            ),
            name => panic!("no scenario is called {name}"),
        };
        let known = Self::ALL.into_iter().chain(["deadly", "reconcile", "slow"]);
        Self {
            name: known.into_iter().find(|known| *known == name).unwrap_or(""),
            says,
            answers,
            structured: name == "finalize",
            guarded: name == "guarded",
        }
    }

    /// The model. `lose_patience` is called when the user is to cancel.
    #[must_use]
    pub fn model(self, points: &Arc<Points>, lose_patience: &Arc<dyn Fn() + Send + Sync>) -> Fake {
        self.answers.into_iter().fold(Fake::new(), |fake, answer| {
            let Answer {
                said,
                answered,
                script,
                cancels,
            } = answer;
            let (points, lose_patience) = (Arc::clone(points), Arc::clone(lose_patience));
            let meets = move |request: &Request| {
                let meets = place_of(request) == (said.to_owned(), answered);
                if meets {
                    points.pass(&format!("asked {said} {answered}"));
                }
                if meets && cancels {
                    lose_patience();
                }
                meets
            };
            fake.reply_when(meets, script)
        })
    }
}

/// What the user last said, and how often the model has answered since.
fn place_of(request: &Request) -> (String, usize) {
    let mut place = (String::new(), 0);
    for message in request.messages.iter() {
        match message.role {
            Role::User => place = (message.text(), 0),
            Role::Assistant => place.1 += 1,
            _ => {}
        }
    }
    place
}
