//! `<think>…</think>` at the start of a text.

/// Takes thinking out of a text that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Think {
    state: State,
    /// What may become a tag.
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space, or the beginning of the tag.
    #[default]
    Start,
    Inside,
    /// Behind the tag: white space before the answer is not part of it.
    Behind,
    Text,
}

/// What a piece was.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    pub(super) reasoning: String,
    pub(super) text: String,
}

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

impl Think {
    pub(super) fn push(&mut self, piece: &str) -> Pieces {
        let mut pieces = Pieces::default();
        self.held.push_str(piece);
        if self.state == State::Start {
            let shown = self.held.trim_start();
            if let Some(rest) = shown.strip_prefix(OPEN) {
                self.held = rest.to_owned();
                self.state = State::Inside;
            } else if !OPEN.starts_with(shown) {
                self.state = State::Text;
            }
        }
        if self.state == State::Inside {
            match self.held.split_once(CLOSE) {
                Some((inside, rest)) => {
                    pieces.reasoning.push_str(inside);
                    self.held = rest.to_owned();
                    self.state = State::Behind;
                }
                None => {
                    let keep = self.held.len() - may_be_tag(&self.held);
                    let rest = self.held.split_off(keep);
                    pieces
                        .reasoning
                        .push_str(&std::mem::replace(&mut self.held, rest));
                }
            }
        }
        if self.state == State::Behind {
            self.held = self.held.trim_start().to_owned();
            if !self.held.is_empty() {
                self.state = State::Text;
            }
        }
        if self.state == State::Text {
            pieces.text = std::mem::take(&mut self.held);
        }
        pieces
    }

    /// Nothing more comes: what was held is what it looks like.
    pub(super) fn finish(&mut self) -> Pieces {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Inside => Pieces {
                reasoning: held,
                text: String::new(),
            },
            State::Start | State::Behind | State::Text => Pieces {
                reasoning: String::new(),
                text: held,
            },
        }
    }
}

/// How many bytes at the end of a text may be the beginning of the closing tag.
fn may_be_tag(text: &str) -> usize {
    (1..CLOSE.len())
        .rev()
        .find(|length| CLOSE.get(..*length).is_some_and(|tag| text.ends_with(tag)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let mut think = Think::default();
        let mut all = Pieces::default();
        let add = |all: &mut Pieces, more: Pieces| {
            all.reasoning.push_str(&more.reasoning);
            all.text.push_str(&more.text);
        };
        for piece in pieces {
            let more = think.push(piece);
            add(&mut all, more);
        }
        let more = think.finish();
        add(&mut all, more);
        (all.reasoning, all.text)
    }

    #[test]
    fn p234_the_tag_may_be_cut_anywhere() {
        for (whole, reasoning, text) in [
            ("<think>a</b></think>\n\nyes", "a</b>", "yes"),
            (" \n<think>ä</think>é <think>x", "ä", "é <think>x"),
            ("<think>never ends </thin", "never ends </thin", ""),
            ("<thin ice", "", "<thin ice"),
            ("plain <think>no</think>", "", "plain <think>no</think>"),
            ("<think></think>", "", ""),
            ("<th", "", "<th"),
            ("  ", "", "  "),
        ] {
            let expected = (reasoning.to_owned(), text.to_owned());
            assert_eq!(split(&[whole]), expected, "{whole}");
            for (cut, _) in whole.char_indices() {
                let (before, after) = whole.split_at(cut);
                assert_eq!(split(&[before, after]), expected, "{before}|{after}");
            }
            let letters: Vec<String> = whole.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(split(&letters), expected, "{whole}");
        }
    }
}
