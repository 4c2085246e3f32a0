//! Bodies as people read them: JSON as JSON, events as events, text by lines, the rest in base64.

use allm_core::json::Sorted;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::cassette::Payload;

/// A body in one of four forms; an empty one has none. What is written gives the same bytes again.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BodyForm {
    /// A JSON document; its bytes are those that stand here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<Box<RawValue>>,
    /// The frames of an event stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    events: Option<Vec<EventForm>>,
    /// How the lines of the events end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line_end: Option<LineEnd>,
    /// A text, line by line, each with its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// One frame: a comment, or data with perhaps a name.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    /// JSON is itself; a string is the text in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LineEnd {
    Lf,
    Crlf,
}

impl LineEnd {
    fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::Crlf => "\r\n",
        }
    }
}

/// How far a request's body stands from the left in a file.
const INDENT: &str = "\n            ";

impl BodyForm {
    pub(super) fn is_empty(&self) -> bool {
        self.json.is_none() && self.events.is_none() && self.text.is_none() && self.base64.is_none()
    }

    /// A value, laid out for people.
    pub(super) fn of_json(value: &Value) -> Result<Self, serde_json::Error> {
        let text = serde_json::to_string_pretty(&Sorted(value))?.replace('\n', INDENT);
        Ok(Self {
            json: Some(RawValue::from_string(text)?),
            ..Self::default()
        })
    }

    /// Bytes, in the form that is best to read and loses nothing.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let mut form = Self::default();
        let Ok(text) = std::str::from_utf8(bytes) else {
            form.base64 = Some(STANDARD.encode(bytes));
            return form;
        };
        if text.is_empty() {
            return form;
        }
        if let Some(json) = raw(text) {
            form.json = Some(json);
            return form;
        }
        for end in [LineEnd::Lf, LineEnd::Crlf] {
            if let Some(events) = events_of(text, end) {
                form.events = Some(events);
                form.line_end = matches!(end, LineEnd::Crlf).then_some(end);
                return form;
            }
        }
        form.text = Some(text.split_inclusive('\n').map(str::to_owned).collect());
        form
    }

    /// The bytes, or what is wrong with the form.
    pub(super) fn bytes(&self) -> Result<Bytes, String> {
        match (&self.json, &self.events, &self.text, &self.base64) {
            (None, None, None, None) => Ok(Bytes::new()),
            (Some(json), None, None, None) => Ok(Bytes::from(json.get().to_owned())),
            (None, Some(events), None, None) => {
                let end = self.line_end.unwrap_or(LineEnd::Lf);
                written(events, end).map(Bytes::from)
            }
            (None, None, Some(lines), None) => Ok(Bytes::from(lines.concat())),
            (None, None, None, Some(text)) => match STANDARD.decode(text) {
                Ok(bytes) => Ok(Bytes::from(bytes)),
                Err(_) => Err("`base64` holds none".to_owned()),
            },
            _ => Err("it has more than one of `json`, `events`, `text` and `base64`".to_owned()),
        }
    }

    /// The same as the body of a request.
    pub(super) fn payload(&self) -> Result<Payload, String> {
        let bytes = self.bytes()?;
        Ok(match serde_json::from_slice(&bytes) {
            Ok(value) => Payload::Json(value),
            Err(_) => Payload::Other(bytes),
        })
    }
}

/// JSON in one line, so that no tool that changes line ends changes its bytes.
fn raw(text: &str) -> Option<Box<RawValue>> {
    if text.contains(['\r', '\n']) {
        return None;
    }
    let raw = RawValue::from_string(text.to_owned()).ok()?;
    (raw.get() == text).then_some(raw)
}

/// The frames of a text that is nothing but frames, written as everybody writes them.
fn events_of(text: &str, end: LineEnd) -> Option<Vec<EventForm>> {
    let line_end = end.text();
    let blank = line_end.repeat(2);
    let frames = text.strip_suffix(blank.as_str())?.split(blank.as_str());
    let events: Option<Vec<EventForm>> = frames.map(|frame| event_of(frame, line_end)).collect();
    let events = events?;
    let same = written(&events, end).is_ok_and(|again| again == text);
    same.then_some(events)
}

fn event_of(frame: &str, line_end: &str) -> Option<EventForm> {
    let (event, data) = match frame.split_once(line_end) {
        Some((event, data)) => (Some(event.strip_prefix("event: ")?.to_owned()), data),
        None => (None, frame),
    };
    if let Some(comment) = data.strip_prefix(':').filter(|_| event.is_none()) {
        return Some(EventForm {
            comment: Some(comment.to_owned()),
            event: None,
            data: None,
        });
    }
    let data = data.strip_prefix("data: ")?;
    let json = raw(data).filter(|json| !json.get().starts_with('"'));
    let data = match json {
        Some(json) => json,
        None => RawValue::from_string(Value::from(data).to_string()).ok()?,
    };
    Some(EventForm {
        comment: None,
        event,
        data: Some(data),
    })
}

fn written(events: &[EventForm], end: LineEnd) -> Result<String, String> {
    let end = end.text();
    let mut text = String::new();
    for (index, event) in events.iter().enumerate() {
        match event {
            EventForm {
                comment: Some(comment),
                event: None,
                data: None,
            } => text.extend([":", comment, end]),
            EventForm {
                comment: None,
                event,
                data: Some(data),
            } => {
                if let Some(name) = event {
                    text.extend(["event: ", name, end]);
                }
                text.extend(["data: ", &data_of(data), end]);
            }
            _ => {
                return Err(format!(
                    "events[{index}] has neither `data` nor a `comment` alone"
                ));
            }
        }
        text.push_str(end);
    }
    Ok(text)
}

/// The data of a frame in one line; what was laid out by hand is drawn together.
fn data_of(data: &RawValue) -> String {
    let text = data.get();
    if let Ok(inside) = serde_json::from_str::<String>(text) {
        return inside;
    }
    if text.contains(['\r', '\n']) {
        let lines = text.lines().map(str::trim);
        return lines.collect::<Vec<_>>().join(" ");
    }
    text.to_owned()
}
