//! Calls of tools, taken out of the text as it comes.

use crate::prompt::CallStyle;

/// A piece of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A call of this tool begins.
    Begun(String),
    /// More of its arguments.
    Arguments(String),
    /// Its arguments are whole.
    Ended,
}

/// Takes calls out of a text that the grammar holds to the form of calls.
#[derive(Debug)]
pub(super) struct Calls {
    style: CallStyle,
    names: Vec<String>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Before the arguments, with what has come of it.
    Before(String),
    Within(Nesting),
    /// After the arguments, with what has come of it.
    After(String),
}

/// Where in the arguments the text is.
#[derive(Debug, Default)]
struct Nesting {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Whether the value ends with this byte.
    fn ends_with(&mut self, byte: u8) -> bool {
        if self.in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

impl Calls {
    pub(super) fn new(style: CallStyle, names: Vec<String>) -> Self {
        Self {
            style,
            names,
            state: State::Before(String::new()),
        }
    }

    /// Whether a call has begun and has not ended.
    #[cfg(test)]
    pub(super) fn is_within(&self) -> bool {
        matches!(self.state, State::Within(_))
    }

    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut arguments = String::new();
        for letter in text.chars() {
            match &mut self.state {
                State::Before(before) => {
                    before.push(letter);
                    let names = self.names.iter();
                    let is_it = |name: &&String| self.style.before_arguments(name) == *before;
                    if let Some(name) = names.clone().find(is_it) {
                        pieces.push(Piece::Begun(name.clone()));
                        self.state = State::Within(Nesting::default());
                    }
                }
                State::Within(nesting) => {
                    arguments.push(letter);
                    // What ends a value is one byte.
                    if u8::try_from(letter).is_ok_and(|byte| nesting.ends_with(byte)) {
                        pieces.push(Piece::Arguments(std::mem::take(&mut arguments)));
                        pieces.push(Piece::Ended);
                        self.state = State::After(String::new());
                    }
                }
                State::After(after) => {
                    after.push(letter);
                    let whole = [self.style.after_arguments(), self.style.between()].concat();
                    if *after == whole {
                        self.state = State::Before(String::new());
                    }
                }
            }
        }
        if !arguments.is_empty() {
            pieces.push(Piece::Arguments(arguments));
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(style: CallStyle, text: &str, size: usize) -> Vec<Piece> {
        let names = ["f", "get", "get_more"].map(str::to_owned).to_vec();
        let mut calls = Calls::new(style, names);
        let mut all: Vec<Piece> = Vec::new();
        let letters: Vec<char> = text.chars().collect();
        for chunk in letters.chunks(size) {
            for piece in calls.push(&chunk.iter().collect::<String>()) {
                match (all.last_mut(), piece) {
                    (Some(Piece::Arguments(before)), Piece::Arguments(more)) => *before += &more,
                    (_, piece) => all.push(piece),
                }
            }
        }
        assert!(!calls.is_within());
        all
    }

    #[test]
    fn calls_are_found_however_they_are_cut() {
        let first = r#"{"a": ["}", "\"}", {"b": "ö]"}], "c": {}}"#;
        let expected = [
            Piece::Begun("get_more".to_owned()),
            Piece::Arguments(first.to_owned()),
            Piece::Ended,
            Piece::Begun("f".to_owned()),
            Piece::Arguments("{}".to_owned()),
            Piece::Ended,
        ];
        for style in [CallStyle::Bare, CallStyle::Parameters, CallStyle::Tagged] {
            let call = |name: &str, arguments: &str| {
                [
                    &style.before_arguments(name),
                    arguments,
                    style.after_arguments(),
                ]
                .concat()
            };
            let text = [call("get_more", first), call("f", "{}")].join(style.between());
            for size in [1, 2, 3, 7, 1000] {
                assert_eq!(joined(style, &text, size), expected);
            }
        }
    }
}
