//! What is answered to a request: told by the first part of its path, and by what it says of earlier calls.

use crate::request::Request;

/// How long a text delta is.
const DELTA: usize = 20;
/// The deltas, in turn. No text begins or ends with a blank: there are libraries that take it off, and would have read
/// something else.
const DELTAS: [&str; 4] = [
    "a river which flows,",
    "over stones and sand",
    "until it sees no sea",
    "where the ship waits",
];
/// How many deltas a final text has.
const FINAL: usize = 10;

/// How an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pace {
    /// A network chunk for each event.
    Single,
    /// As many events to a network chunk as it holds.
    Packed,
    /// A network chunk for each event, and a wait between them.
    Gaps,
}

/// An answer, in no wire's words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) pace: Pace,
    pub(crate) say: Say,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Say {
    /// So many deltas.
    Text(usize),
    /// One call with arguments in so many fragments.
    Arguments(usize),
    /// So many calls of `add`.
    Calls(usize),
    /// The next call of `lookup`, and which one it is.
    Lookup(usize),
}

/// A call in an answer.
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: &'static str,
    /// The arguments' text, cut as it is streamed.
    pub(crate) fragments: Vec<String>,
}

impl Call {
    /// The arguments' whole text.
    pub(crate) fn arguments(&self) -> String {
        self.fragments.concat()
    }
}

impl Answer {
    /// What is answered; `None` if the path says nothing known.
    pub(crate) fn to(request: &Request) -> Option<Self> {
        let scenario = request.path.trim_start_matches('/').split('/').next()?;
        let (kind, count) = scenario.rsplit_once('-')?;
        let count: usize = count.parse().ok()?;
        let (pace, say) = match kind {
            "text" => (Pace::Single, Say::Text(count)),
            "packed" => (Pace::Packed, Say::Text(count)),
            "gaps" => (Pace::Gaps, Say::Text(count)),
            "arguments" => (Pace::Single, Say::Arguments(count)),
            "packed-arguments" => (Pace::Packed, Say::Arguments(count)),
            "calls" if request.results() == 0 => (Pace::Single, Say::Calls(count)),
            "calls" => (Pace::Single, Say::Text(FINAL)),
            "loop" => match request.results() {
                known if known < count => (Pace::Single, Say::Lookup(known)),
                _ => (Pace::Single, Say::Text(FINAL)),
            },
            _ => return None,
        };
        Some(Self { pace, say })
    }

    /// The text's pieces.
    pub(crate) fn deltas(&self) -> impl Iterator<Item = &'static str> + use<> {
        let count = match self.say {
            Say::Text(count) => count,
            _ => 0,
        };
        debug_assert!(DELTAS.iter().all(|delta| delta.len() == DELTA));
        DELTAS.into_iter().cycle().take(count)
    }

    /// The calls.
    pub(crate) fn calls(&self) -> Vec<Call> {
        match self.say {
            Say::Text(_) => Vec::new(),
            Say::Arguments(count) => {
                let words = "plain words with spaces ";
                let room = (count * 10).saturating_sub(r#"{"text":""}"#.len());
                let text: String = words.chars().cycle().take(room).collect();
                let whole = format!(r#"{{"text":"{text}"}}"#);
                vec![call(0, "note", &whole, 10)]
            }
            Say::Calls(count) => (0..count)
                .map(|index| call(index, "add", &format!(r#"{{"a":{index},"b":7}}"#), 5))
                .collect(),
            Say::Lookup(known) => {
                let key = format!("{known:06} {}", "the key of a thing ".repeat(4));
                vec![call(known, "lookup", &format!(r#"{{"key":"{key}"}}"#), 20)]
            }
        }
    }
}

fn call(index: usize, name: &'static str, arguments: &str, fragment: usize) -> Call {
    let bytes = arguments.as_bytes();
    Call {
        id: format!("call_0123456789abcdef{index:06}"),
        name,
        fragments: bytes
            .chunks(fragment)
            .map(|piece| String::from_utf8_lossy(piece).into_owned())
            .collect(),
    }
}
