//! From bytes to text that can be given out.

/// Turns the bytes of tokens into text, and looks for the texts that end an answer.
///
/// A character may be spread over tokens, and a text that ends the answer too: both are held back until they are whole.
#[derive(Debug)]
pub(super) struct Speech {
    bytes: Vec<u8>,
    text: String,
    stops: Vec<String>,
}

/// What came of further bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// This much more text.
    More(String),
    /// This much more text, and then one that ends the answer.
    Stopped(String),
}

impl Speech {
    pub(super) fn new(stops: &[String]) -> Self {
        Self {
            bytes: Vec::new(),
            text: String::new(),
            stops: stops
                .iter()
                .filter(|stop| !stop.is_empty())
                .cloned()
                .collect(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Said {
        self.bytes.extend_from_slice(bytes);
        let whole = whole_characters(&self.bytes);
        let text: Vec<u8> = self.bytes.drain(..whole).collect();
        self.text += &String::from_utf8_lossy(&text);
        self.said()
    }

    /// The answer is over: what was held back is text after all.
    pub(super) fn finish(&mut self) -> Said {
        let rest = std::mem::take(&mut self.bytes);
        self.text += &String::from_utf8_lossy(&rest);
        match self.said() {
            Said::Stopped(text) => Said::Stopped(text),
            Said::More(text) => Said::More(text + &std::mem::take(&mut self.text)),
        }
    }

    fn said(&mut self) -> Said {
        let found = self
            .stops
            .iter()
            .filter_map(|stop| self.text.find(stop.as_str()));
        if let Some(at) = found.min() {
            self.text.truncate(at);
            return Said::Stopped(std::mem::take(&mut self.text));
        }
        let held_back = self.held_back();
        let kept = self.text.split_off(self.text.len() - held_back);
        Said::More(std::mem::replace(&mut self.text, kept))
    }

    /// How many bytes at the end may be the beginning of a text that ends the answer.
    fn held_back(&self) -> usize {
        let longest = |stop: &String| {
            let begins = |length: &usize| {
                let start = stop.get(..*length);
                start.is_some_and(|start| self.text.ends_with(start))
            };
            (1..stop.len()).rev().find(begins)
        };
        self.stops.iter().filter_map(longest).max().unwrap_or(0)
    }
}

/// How many bytes there are without a last character that is not whole.
fn whole_characters(bytes: &[u8]) -> usize {
    let mut start = 0;
    loop {
        let rest = bytes.get(start..).unwrap_or_default();
        match std::str::from_utf8(rest) {
            Ok(_) => return bytes.len(),
            Err(error) => match error.error_len() {
                None => return start + error.valid_up_to(),
                Some(length) => start += error.valid_up_to() + length,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn more(text: &str) -> Said {
        Said::More(text.to_owned())
    }

    fn speech(stops: &[&str]) -> Speech {
        let stops: Vec<String> = stops.iter().map(ToString::to_string).collect();
        Speech::new(&stops)
    }

    /// P243
    #[test]
    fn p243_a_character_is_given_out_whole() {
        let mut speech = speech(&[]);
        let earth = "🌍".as_bytes();
        assert_eq!(speech.push(b"a\xf0"), more("a"));
        assert_eq!(speech.push(&earth[1..3]), more(""));
        assert_eq!(speech.push(&earth[3..]), more("🌍"));
        assert_eq!(speech.push(b"\xffb\xc3"), more("\u{fffd}b"));
        assert_eq!(speech.finish(), more("\u{fffd}"));
    }

    /// P244
    #[test]
    fn p244_a_stop_text_is_never_seen_not_even_in_part() {
        let mut speech = speech(&["END", "\n\n"]);
        assert_eq!(speech.push(b"The E"), more("The "));
        assert_eq!(speech.push(b"N"), more(""));
        assert_eq!(speech.push(b"ERGY\n"), more("ENERGY"));
        assert_eq!(speech.push(b"x EN"), more("\nx "));
        assert_eq!(speech.push(b"D of it"), Said::Stopped(String::new()));
    }

    /// P244
    #[test]
    fn what_only_looked_like_a_stop_text_comes_at_the_end() {
        let mut speech = speech(&["END"]);
        assert_eq!(speech.push(b"the EN"), more("the "));
        assert_eq!(speech.finish(), more("EN"));
        assert_eq!(speech.finish(), more(""));
    }

    /// P244
    #[test]
    fn the_first_of_several_stop_texts_counts() {
        let mut speech = speech(&["c", "bö"]);
        assert_eq!(
            speech.push("abö c".as_bytes()),
            Said::Stopped("a".to_owned())
        );
    }
}
