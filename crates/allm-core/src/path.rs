//! Where in a value something stands.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One step of a [`Path`]: the name of a field or the index of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// A field or a key.
    Name(Cow<'static, str>),
    /// A place in a list, from 0.
    Index(usize),
}

impl From<&'static str> for Segment {
    fn from(name: &'static str) -> Self {
        Self::Name(Cow::Borrowed(name))
    }
}

impl From<String> for Segment {
    fn from(name: String) -> Self {
        Self::Name(Cow::Owned(name))
    }
}

impl From<usize> for Segment {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The way from the root of a value to the place that an error speaks of.
///
/// Shown as `messages[2].content[0]`; the root itself is shown as `$`. A name that is not a plain word is quoted, so
/// that two different paths never look alike: `extra["a.b"]`.
///
/// ```
/// use allm_core::Path;
///
/// let path = Path::root().field("messages").index(2).field("content");
/// assert_eq!(path.to_string(), "messages[2].content");
/// assert_eq!("messages[2].content".parse(), Ok(path));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Vec<Segment>);

/// A text that is not the display form of a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidPath;

impl fmt::Display for InvalidPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a path: expected names and indices, as in `messages[2].content`")
    }
}

impl std::error::Error for InvalidPath {}

impl Path {
    /// The path of the whole value.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// This path, one field further down.
    #[must_use]
    pub fn field(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(Segment::Name(name.into()));
        self
    }

    /// This path, one list entry further down.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// This path below `parent`.
    #[must_use]
    pub fn below(mut self, parent: &Self) -> Self {
        self.0.splice(0..0, parent.0.iter().cloned());
        self
    }

    /// The steps from the root.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether this is the path of the whole value.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Segment> for Path {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Self {
        Self(segments.into_iter().collect())
    }
}

impl From<&'static str> for Path {
    fn from(name: &'static str) -> Self {
        Self::root().field(name)
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("$");
        }
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Name(name) if is_plain(name) => {
                    if position > 0 {
                        f.write_str(".")?;
                    }
                    f.write_str(name)?;
                }
                Segment::Name(name) => {
                    let quoted = serde_json::to_string(name).map_err(|_| fmt::Error)?;
                    write!(f, "[{quoted}]")?;
                }
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for Path {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        if text == "$" {
            return Ok(Self::root());
        }
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inside) = rest.strip_prefix('[') {
                let (segment, after) = if inside.starts_with('"') {
                    let mut names =
                        serde_json::Deserializer::from_str(inside).into_iter::<String>();
                    let name = names.next().and_then(Result::ok).ok_or(InvalidPath)?;
                    let end = names.byte_offset();
                    if is_plain(&name) {
                        return Err(InvalidPath);
                    }
                    (Segment::from(name), inside.get(end..).ok_or(InvalidPath)?)
                } else {
                    let (digits, after) = inside.split_once(']').ok_or(InvalidPath)?;
                    let index: usize = digits.parse().map_err(|_| InvalidPath)?;
                    segments.push(Segment::Index(index));
                    rest = after;
                    continue;
                };
                segments.push(segment);
                rest = after.strip_prefix(']').ok_or(InvalidPath)?;
            } else {
                if !segments.is_empty() {
                    rest = rest.strip_prefix('.').ok_or(InvalidPath)?;
                }
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                if !is_plain(name) {
                    return Err(InvalidPath);
                }
                segments.push(Segment::from(name.to_owned()));
                rest = after;
            }
        }
        if segments.is_empty() {
            return Err(InvalidPath);
        }
        Ok(Self(segments))
    }
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Path {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
