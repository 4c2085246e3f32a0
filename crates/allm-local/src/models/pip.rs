//! Which Python package index this machine uses.

use std::env;
use std::path::PathBuf;

/// The index of everybody who says nothing else.
const USUAL: &str = "https://pypi.org/simple";

/// The index that pip uses here: the environment, then the configuration files from the nearest to the farthest.
pub(super) fn index() -> String {
    let get = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    chosen(get, |path| std::fs::read_to_string(path).ok())
}

fn chosen(
    get: impl Fn(&str) -> Option<String>,
    read: impl Fn(PathBuf) -> Option<String>,
) -> String {
    if let Some(index) = get("PIP_INDEX_URL") {
        return index.trim().to_owned();
    }
    let folder = |name: &str, inside: &str| Some(PathBuf::from(get(name)?).join(inside));
    let files = [
        get("PIP_CONFIG_FILE").map(PathBuf::from),
        folder("VIRTUAL_ENV", "pip.conf"),
        folder("XDG_CONFIG_HOME", "pip/pip.conf"),
        folder("HOME", ".config/pip/pip.conf"),
        folder("HOME", ".pip/pip.conf"),
        folder("APPDATA", "pip/pip.ini"),
        Some(PathBuf::from("/etc/xdg/pip/pip.conf")),
        Some(PathBuf::from("/etc/pip.conf")),
    ];
    let mut indexes = files
        .into_iter()
        .flatten()
        .filter_map(|file| index_in(&read(file)?));
    indexes.next().unwrap_or_else(|| USUAL.to_owned())
}

/// `index-url` in a configuration file; what is said for downloads beats what is said for all.
fn index_in(text: &str) -> Option<String> {
    let mut section = String::new();
    let mut found: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = name.trim().to_ascii_lowercase();
            continue;
        }
        let Some((key, value)) = line.split_once(['=', ':']) else {
            continue;
        };
        let key = key.trim().to_ascii_lowercase().replace('_', "-");
        let value = value.trim();
        if key != "index-url" || value.is_empty() {
            continue;
        }
        match section.as_str() {
            "download" => return Some(value.to_owned()),
            "global" => found = Some(value.to_owned()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)], files: &[(&str, &str)]) -> String {
        let find = |list: &[(&str, &str)], name: &str| {
            let found = list.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        chosen(
            |name| find(set, name),
            |path| find(files, path.to_str().unwrap()),
        )
    }

    /// P256
    #[test]
    fn p256_the_nearest_that_says_anything_counts() {
        let files = [
            (
                "/etc/pip.conf",
                "[global]\nindex-url = https://far.test/simple\n",
            ),
            (
                "/h/.config/pip/pip.conf",
                "# x\n[install]\nindex-url = https://no.test\n[global]\nindex_url: https://near.test/simple",
            ),
        ];
        assert_eq!(with(&[], &[]), "https://pypi.org/simple");
        assert_eq!(with(&[], &files), "https://far.test/simple");
        assert_eq!(with(&[("HOME", "/h")], &files), "https://near.test/simple");
        let set = [("HOME", "/h"), ("PIP_INDEX_URL", " https://first.test/ ")];
        assert_eq!(with(&set, &files), "https://first.test/");
    }
}
