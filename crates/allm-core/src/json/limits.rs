//! How much a reader takes.

/// The most levels of arrays and objects that one text may nest. `[]` has one level.
///
/// A model's arguments may have 128 levels; the rest is for what stands around them in a document, so that what was
/// accepted can always be stored.
pub const MAX_DEPTH: usize = 160;

/// How much a reader takes before it gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest text, in bytes.
    pub max_bytes: usize,
    /// The most levels of nesting. More than [`MAX_DEPTH`] counts as [`MAX_DEPTH`], for a deeper text is no text of this
    /// format and a reader must not run out of stack.
    pub max_depth: usize,
}

impl Limits {
    /// For text whose length others have limited, or that was just written here.
    pub(super) const OWN: Self = Self {
        max_bytes: usize::MAX,
        max_depth: MAX_DEPTH,
    };
}

impl Default for Limits {
    /// 64 MiB and [`MAX_DEPTH`] levels.
    fn default() -> Self {
        Self {
            max_bytes: 64 * 1024 * 1024,
            max_depth: MAX_DEPTH,
        }
    }
}
