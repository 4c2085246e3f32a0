//! Downloading a file, and going on where a connection broke.

use std::path::Path;
use std::time::Duration;

use http::header::{CONTENT_RANGE, ETAG, IF_RANGE, RANGE};
use http::{HeaderValue, StatusCode};

use super::address::Address;
use super::http as client;
use super::part::PartFile;
use super::space;
use crate::error::{ModelError, ModelErrorKind};

/// How often it is tried, in all.
const ATTEMPTS: u32 = 5;
/// How long to wait after the first failure; twice as long after each further one.
const PAUSE: Duration = Duration::from_millis(250);

/// What is known of a file before it comes.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    pub(super) size: Option<u64>,
    pub(super) sha256: Option<String>,
}

/// Downloads a file. What came before a connection broke is not asked for again.
pub(super) async fn download(
    address: &Address,
    to: &Path,
    expected: &Expected,
    progress: &mut (dyn FnMut(u64, Option<u64>) + Send),
) -> Result<PartFile, ModelError> {
    if let Some(size) = expected.size {
        space::check(to, size)?;
    }
    let mut part = PartFile::create(to.to_owned())?;
    let mut mark: Option<HeaderValue> = None;
    let mut attempt = 1;
    loop {
        let before = part.length();
        let Err(error) = piece(address, &mut part, &mut mark, expected, progress).await else {
            break;
        };
        if part.length() > before {
            // It goes on, if slowly.
            attempt = 1;
        }
        if attempt >= ATTEMPTS || error.kind() != ModelErrorKind::Network {
            return Err(error);
        }
        tokio::time::sleep(PAUSE * 2_u32.pow(attempt - 1)).await;
        attempt += 1;
    }
    verify(&part, address.host(), expected)?;
    Ok(part)
}

/// One attempt at what is still missing.
async fn piece(
    address: &Address,
    part: &mut PartFile,
    mark: &mut Option<HeaderValue>,
    expected: &Expected,
    progress: &mut (dyn FnMut(u64, Option<u64>) + Send),
) -> Result<(), ModelError> {
    let mut headers = Vec::new();
    let resumes = part.length() > 0;
    if resumes && let Ok(range) = HeaderValue::try_from(format!("bytes={}-", part.length())) {
        headers.push((RANGE, range));
        headers.extend(mark.clone().map(|mark| (IF_RANGE, mark)));
    }
    let mut got = client::get(address, &headers).await?;
    let status = got.response.status();
    let is_rest = status == StatusCode::PARTIAL_CONTENT && begins_at(&got, part.length());
    if !is_rest && status == StatusCode::PARTIAL_CONTENT {
        part.restart()?;
        let message = format!("{} gave another part than was asked for", got.from.host());
        return Err(ModelError::new(ModelErrorKind::Network, message));
    }
    if !is_rest {
        part.restart()?;
    }
    // A weak mark does not say that the bytes are the same.
    *mark = got
        .response
        .headers()
        .get(ETAG)
        .filter(|tag| !tag.as_bytes().starts_with(b"W/"))
        .cloned();
    let length = got.length();
    let whole = length.map(|length| length + part.length());
    if let (Some(whole), Some(size)) = (whole, expected.size)
        && whole != size
    {
        return Err(wrong_size(got.from.host(), whole, size));
    }
    if let Some(length) = length {
        space::check(part.path(), length)?;
    }
    while let Some(bytes) = got.piece().await? {
        part.write(&bytes)?;
        if let Some(size) = expected.size
            && part.length() > size
        {
            return Err(wrong_size(got.from.host(), part.length(), size));
        }
        progress(part.length(), expected.size.or(whole));
    }
    match expected.size.or(whole) {
        Some(size) if part.length() < size => {
            let message = format!(
                "{} ended the download after {} of {size} bytes",
                got.from.host(),
                part.length()
            );
            Err(ModelError::new(ModelErrorKind::Network, message))
        }
        _ => Ok(()),
    }
}

fn begins_at(got: &client::Got, position: u64) -> bool {
    let range = got.response.headers().get(CONTENT_RANGE);
    let range = range.and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {position}-")))
}

fn wrong_size(host: &str, found: u64, expected: u64) -> ModelError {
    let message =
        format!("{host} gives {found} bytes, and {expected} are expected: it is another file");
    ModelError::new(ModelErrorKind::WrongChecksum, message)
}

/// An error if the bytes are not the expected ones.
pub(super) fn verify(part: &PartFile, from: &str, expected: &Expected) -> Result<(), ModelError> {
    if let Some(size) = expected.size
        && part.length() != size
    {
        return Err(wrong_size(from, part.length(), size));
    }
    match &expected.sha256 {
        Some(sha256) if !sha256.eq_ignore_ascii_case(&part.sha256()) => {
            let found = part.sha256();
            let message = format!(
                "what {from} gave has the SHA-256 {found}, and {sha256} is expected: it is another file, or damaged"
            );
            Err(ModelError::new(ModelErrorKind::WrongChecksum, message))
        }
        _ => Ok(()),
    }
}
