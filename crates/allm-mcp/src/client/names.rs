//! The names of a server's tools, as a model may be told them.

/// How long a name may be.
const LONGEST: usize = 64;

/// Names that mean something else where a tool is chosen.
const RESERVED: [&str; 3] = ["auto", "none", "required"];

/// The name that a tool of the server gets: with the prefix, and with `_` for every character that a name cannot have.
pub(super) fn told(prefix: Option<&str>, original: &str) -> String {
    let mut name = String::with_capacity(original.len());
    if let Some(prefix) = prefix {
        name.push_str(prefix);
        name.push('_');
    }
    name.extend(original.chars().map(|c| match is_fit(c) {
        true => c,
        false => '_',
    }));
    name.truncate(LONGEST);
    if RESERVED.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// Whether the text can be a name, or the beginning of one.
pub(super) fn is_name(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.chars().all(is_fit)
}

fn is_fit(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m9_names_fit() {
        assert_eq!(told(None, "read_file"), "read_file");
        assert_eq!(told(Some("fs"), "read.file/now"), "fs_read_file_now");
        assert_eq!(told(None, "größe"), "gr__e");
        assert_eq!(told(None, "auto"), "auto_");
        assert_eq!(told(Some("x"), &"a".repeat(200)).len(), 64);
    }
}
