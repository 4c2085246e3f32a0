//! The pages of a Python package index.

use serde::Deserialize;

use super::address::Address;
use crate::error::{ModelError, ModelErrorKind};

/// What is asked for: JSON, and HTML from those that have nothing else.
pub(super) const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) link: String,
    pub(super) sha256: Option<String>,
    pub(super) is_yanked: bool,
}

#[derive(Deserialize)]
struct Page {
    files: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: std::collections::HashMap<String, String>,
    /// `false`, or the reason.
    #[serde(default)]
    yanked: serde_json::Value,
}

/// The page of a package.
pub(super) fn page(index: &str, package: &str) -> Result<Address, ModelError> {
    Address::parse(&format!("{}/{package}/", index.trim_end_matches('/')))
}

/// The files that a page lists.
pub(super) fn files(body: &[u8]) -> Result<Vec<File>, ModelError> {
    let text = String::from_utf8_lossy(body);
    if !text.trim_start().starts_with('{') {
        return Ok(in_html(&text));
    }
    let page: Page = serde_json::from_str(&text).map_err(|error| {
        let message = "the package index answered with something else than a list of files";
        ModelError::new(ModelErrorKind::Network, message).because(error)
    })?;
    let files = page.files.into_iter().map(|mut entry| File {
        sha256: entry.hashes.remove("sha256"),
        is_yanked: !matches!(
            entry.yanked,
            serde_json::Value::Null | serde_json::Value::Bool(false)
        ),
        name: entry.filename,
        link: entry.url,
    });
    Ok(files.collect())
}

/// The links of a page in HTML: `<a href="…#sha256=…" data-yanked="…">name</a>`.
fn in_html(text: &str) -> Vec<File> {
    let mut files = Vec::new();
    let mut rest = text;
    while let Some((_, from)) = rest.split_once("<a ") {
        let Some((tag, after)) = from.split_once('>') else {
            break;
        };
        rest = after;
        let name = after.split('<').next().unwrap_or_default().trim();
        let Some(href) = attribute(tag, "href") else {
            continue;
        };
        let (link, fragment) = href.split_once('#').unwrap_or((&href, ""));
        files.push(File {
            name: name.to_owned(),
            link: link.to_owned(),
            sha256: fragment.strip_prefix("sha256=").map(str::to_owned),
            is_yanked: tag.contains("data-yanked"),
        });
    }
    files
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, value) = tag.split_once(&format!("{name}=\""))?;
    let (value, _) = value.split_once('"')?;
    let unescaped = value
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"");
    Some(unescaped.replace("&amp;", "&"))
}

/// The file of this name; one that was withdrawn only if there is no other.
pub(super) fn find(files: &[File], name: &str) -> Option<File> {
    let named = || files.iter().filter(|file| file.name == name);
    named()
        .find(|file| !file.is_yanked)
        .or_else(|| named().next())
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P256
    #[test]
    fn p256_pages_in_json_and_in_html_say_the_same() {
        let json = r#"{"meta": {"api-version": "1.1"}, "name": "p", "versions": ["1", "2"], "files": [
            {"filename": "p-1.tar.gz", "url": "../../f/p-1.tar.gz", "hashes": {"sha256": "aa", "md5": "x"}, "size": 1},
            {"filename": "p-1-py3-none-any.whl", "url": "https://f.test/old.whl", "hashes": {}, "yanked": "broken"},
            {"filename": "p-1-py3-none-any.whl", "url": "https://f.test/w.whl?a=1&b=2", "hashes": {"sha256": "bb"}, "yanked": false}
        ]}"#;
        let html = r#"<!DOCTYPE html><html><body><h1>Links</h1>
            <a href="../../f/p-1.tar.gz#sha256=aa" data-requires-python="&gt;=3.9">p-1.tar.gz</a><br/>
            <a data-yanked="broken" href="https://f.test/old.whl">p-1-py3-none-any.whl</a>
            <a href="https://f.test/w.whl?a=1&amp;b=2#sha256=bb">p-1-py3-none-any.whl</a></body></html>"#;
        let found = files(json.as_bytes()).unwrap();
        assert_eq!(files(html.as_bytes()).unwrap(), found);
        assert_eq!(found.len(), 3);
        let wheel = find(&found, "p-1-py3-none-any.whl").unwrap();
        assert_eq!(
            (&*wheel.link, wheel.sha256.as_deref()),
            ("https://f.test/w.whl?a=1&b=2", Some("bb"))
        );
        let withdrawn = find(&found[..2], "p-1-py3-none-any.whl").unwrap();
        assert!(withdrawn.is_yanked);
        assert_eq!(find(&found, "p-2-py3-none-any.whl"), None);
    }

    #[test]
    fn another_page_is_told() {
        assert!(files(b"{\"message\": \"hello\"}").is_err());
        assert_eq!(files(b"<html>not found</html>").unwrap(), []);
    }
}
