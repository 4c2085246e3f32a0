//! Words of a command line that are made from the arguments of a call.
//!
//! `{city}` stands for the argument `city`, `{{` and `}}` for braces. A word stays one word, whatever is put into it.

use std::ffi::OsString;

use allm::{Map, ReportedError};
use serde_json::Value;

/// A word of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Argument(String),
}

impl Word {
    /// Reads a word.
    pub(super) fn read(said: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = said.chars().peekable();
        while let Some(next) = rest.next() {
            match next {
                '{' | '}' if rest.peek() == Some(&next) => {
                    rest.next();
                    text.push(next);
                }
                '}' => return Err("a `}` stands alone; write `}}` for a brace".to_owned()),
                '{' => {
                    let mut name = String::new();
                    loop {
                        match rest.next() {
                            Some('}') => break,
                            Some('{') | None => {
                                let what = "a `{` is not closed; write `{{` for a brace";
                                return Err(what.to_owned());
                            }
                            Some(letter) => name.push(letter),
                        }
                    }
                    if name.is_empty() {
                        let what = "`{}` names no argument; write `{{}}` for two braces";
                        return Err(what.to_owned());
                    }
                    if !text.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut text)));
                    }
                    pieces.push(Piece::Argument(name));
                }
                letter => text.push(letter),
            }
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(Self(pieces))
    }

    /// The arguments that it names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Argument(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The word for these arguments; `None` where one that it names is absent or null.
    fn fill(&self, arguments: &Map, may_be_option: bool) -> Result<Option<String>, ReportedError> {
        let mut word = String::new();
        for (place, piece) in self.0.iter().enumerate() {
            match piece {
                Piece::Text(text) => word.push_str(text),
                Piece::Argument(name) => match arguments.get(name) {
                    None | Some(Value::Null) => return Ok(None),
                    Some(Value::String(text)) => {
                        if text.contains('\0') {
                            let what = format!("the argument `{name}` must not hold a NUL");
                            return Err(ReportedError::new(what));
                        }
                        if place == 0 && text.starts_with('-') && !may_be_option {
                            let what = format!("the argument `{name}` must not begin with `-`");
                            return Err(ReportedError::new(what));
                        }
                        word.push_str(text);
                    }
                    Some(value) => word.push_str(&value.to_string()),
                },
            }
        }
        Ok(Some(word))
    }
}

/// The words for these arguments.
///
/// A text of the model's that begins with `-` at the beginning of a word could be taken for an option. It is refused,
/// unless a word `--` before it says that options are over.
pub(super) fn fill(words: &[Word], arguments: &Map) -> Result<Vec<OsString>, ReportedError> {
    let mut filled = Vec::with_capacity(words.len());
    let mut options_over = false;
    for word in words {
        if let Some(text) = word.fill(arguments, options_over)? {
            filled.push(OsString::from(text));
        }
        options_over |= word.0 == [Piece::Text("--".to_owned())];
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(words: &[&str], arguments: &Value) -> Result<Vec<String>, String> {
        let words: Result<Vec<Word>, String> = words.iter().map(|word| Word::read(word)).collect();
        let arguments = arguments.as_object().expect("an object");
        let filled = fill(&words?, arguments).map_err(|error| error.message)?;
        let text = |word: OsString| word.into_string().expect("text");
        Ok(filled.into_iter().map(text).collect())
    }

    #[test]
    fn a_word_stays_one_word_whatever_is_put_into_it() {
        let arguments =
            json!({"a": "x y; $(z) 'q'\n", "n": -5, "b": true, "l": [1, "two"], "none": null});
        let words = [
            "{a}",
            "--n={n}",
            "{b}{b}",
            "{l}",
            "{{{n}}}",
            "plain",
            "{none}",
            "--x={absent}",
        ];
        let expected = [
            "x y; $(z) 'q'\n",
            "--n=-5",
            "truetrue",
            "[1,\"two\"]",
            "{-5}",
            "plain",
        ];
        assert_eq!(filled(&words, &arguments).expect("words"), expected);
    }

    #[test]
    fn a_text_is_not_taken_for_an_option() {
        let arguments = json!({"file": "--delete", "n": -1});
        let refused = "the argument `file` must not begin with `-`".to_owned();
        assert_eq!(filled(&["{file}"], &arguments), Err(refused));
        assert_eq!(
            filled(&["--", "{file}", "x{file}", "{n}"], &arguments).expect("words"),
            ["--", "--delete", "x--delete", "-1"]
        );
        let nul = filled(&["x{file}"], &json!({"file": "a\0b"}));
        assert_eq!(
            nul,
            Err("the argument `file` must not hold a NUL".to_owned())
        );
    }

    #[test]
    fn braces_that_make_no_sense() {
        for (word, expected) in [
            ("a}", "a `}` stands alone; write `}}` for a brace"),
            ("{a", "a `{` is not closed; write `{{` for a brace"),
            ("{a{b}", "a `{` is not closed; write `{{` for a brace"),
            ("{}", "`{}` names no argument; write `{{}}` for two braces"),
        ] {
            assert_eq!(Word::read(word), Err(expected.to_owned()), "{word}");
        }
    }
}
