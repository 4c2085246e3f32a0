//! Cutting text at a character boundary.

/// The largest length up to `limit` at which `text` can be cut.
pub(crate) fn boundary(text: &str, limit: usize) -> usize {
    text.floor_char_boundary(limit)
}

/// `text`, cut to `limit` bytes with a visible mark if it is longer.
pub(crate) fn cut(mut text: String, limit: usize) -> String {
    let total = text.len();
    if total > limit {
        text.truncate(boundary(&text, limit));
        let kept = text.len();
        text.push_str(&cut_mark(kept, total));
    }
    text
}

/// The mark of a cut.
pub(crate) fn cut_mark(kept: usize, total: usize) -> String {
    format!("\n[cut: {kept} of {total} bytes]")
}

/// `text` without line breaks, for one-line displays.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for piece in text.split(['\r', '\n']).filter(|piece| !piece.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(piece);
    }
    line
}

/// `text` in one short line, for a name that a model may have made up.
pub(crate) fn short_line(text: &str) -> String {
    // The longest name that a tool can have.
    const LONGEST: usize = 64;
    let kept = text.char_indices().nth(LONGEST).map(|(end, _)| end);
    match kept.and_then(|end| text.get(..end)) {
        Some(kept) => one_line(kept) + "…",
        None => one_line(text),
    }
}
