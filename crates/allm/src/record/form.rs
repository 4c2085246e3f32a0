//! Cassettes as files: JSON that people can read, compare and write by hand.

mod body;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::cassette::{Answered, Asked, Chunk, End, Interaction, Payload};
use super::error::{CassetteError, CassetteReason};
use body::BodyForm;

const VERSION: u64 = 1;
const TYPE: &str = "cassette";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    v: u64,
    r#type: String,
    data: Data,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    interactions: Vec<InteractionForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InteractionForm {
    request: RequestForm,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<ResponseForm>,
    #[serde(default, skip_serializing_if = "is_whole")]
    end: End,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestForm {
    method: String,
    host: String,
    path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    query: String,
    #[serde(default, skip_serializing_if = "BodyForm::is_empty")]
    body: BodyForm,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponseForm {
    status: u16,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BodyForm::is_empty")]
    body: BodyForm,
    /// Milliseconds and bytes of each piece; without it the body came in one.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "in_one_line"
    )]
    chunks: Vec<(u64, usize)>,
}

/// What is read first, so that a newer file is called that and not faulty.
#[derive(Deserialize)]
struct Head {
    v: Option<u64>,
    r#type: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_whole(end: &End) -> bool {
    *end == End::Whole
}

fn in_one_line<S: Serializer>(chunks: &[(u64, usize)], serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::Error as _;
    let text = serde_json::to_string(chunks).map_err(S::Error::custom)?;
    RawValue::from_string(text)
        .map_err(S::Error::custom)?
        .serialize(serializer)
}

/// The text of one interaction, as it stands in the file.
pub(super) fn write_one(interaction: &Interaction) -> Result<String, serde_json::Error> {
    serde_json::to_string(&written(interaction)?)
}

/// The text of a file.
pub(super) fn write(interactions: &[Interaction]) -> Result<String, serde_json::Error> {
    let interactions = interactions.iter().map(written);
    let file = File {
        v: VERSION,
        r#type: TYPE.to_owned(),
        data: Data {
            interactions: interactions.collect::<Result<_, _>>()?,
        },
    };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

fn written(interaction: &Interaction) -> Result<InteractionForm, serde_json::Error> {
    let asked = &interaction.asked;
    let response = interaction.answered.as_ref().map(|answered| {
        let chunks = answered.chunks.iter();
        ResponseForm {
            status: answered.status,
            headers: answered.headers.iter().cloned().collect(),
            body: BodyForm::of_bytes(&answered.body),
            chunks: chunks.map(|chunk| (chunk.at, chunk.length)).collect(),
        }
    });
    Ok(InteractionForm {
        request: RequestForm {
            method: asked.method.clone(),
            host: asked.host.clone(),
            path: asked.path.clone(),
            query: asked.query.clone(),
            body: match &asked.body {
                Payload::Json(value) => BodyForm::of_json(value)?,
                Payload::Other(bytes) => BodyForm::of_bytes(bytes),
            },
        },
        response,
        end: interaction.end,
    })
}

/// Reads the text of a file.
pub(super) fn read(file: &Path, text: &str) -> Result<Vec<Interaction>, CassetteError> {
    let malformed = |error: serde_json::Error| {
        let message = format!("it cannot be read: {error}");
        CassetteError::new(CassetteReason::Malformed, file, message)
    };
    let head: Head = serde_json::from_str(text).map_err(malformed)?;
    if head.r#type.as_deref() != Some(TYPE) {
        let message = format!("it is no cassette: its `type` is not `{TYPE}`");
        return Err(CassetteError::new(CassetteReason::Malformed, file, message));
    }
    if let Some(found) = head.v.filter(|found| *found != VERSION) {
        let message = format!("it is of version {found}, this library reads version {VERSION}");
        let reason = CassetteReason::UnsupportedVersion;
        return Err(CassetteError::new(reason, file, message));
    }
    let read: File = serde_json::from_str(text).map_err(malformed)?;
    let forms = read.data.interactions.into_iter().enumerate();
    forms
        .map(|(index, form)| {
            interaction(form).map_err(|fault| {
                let message = format!("interactions[{index}].{fault}");
                CassetteError::new(CassetteReason::Invalid, file, message)
            })
        })
        .collect()
}

/// The interaction of a form, or where in it what is wrong.
fn interaction(form: InteractionForm) -> Result<Interaction, String> {
    let request = form.request;
    let asked = Asked {
        method: request.method,
        host: request.host,
        path: request.path,
        query: request.query,
        body: request
            .body
            .payload()
            .map_err(|fault| format!("request.body: {fault}"))?,
    };
    let answered = form.response.map(answered).transpose()?;
    if answered.is_none() && form.end != End::Broken {
        return Err("response: it is missing; only a `broken` interaction has none".to_owned());
    }
    Ok(Interaction {
        asked,
        answered,
        end: form.end,
    })
}

fn answered(form: ResponseForm) -> Result<Answered, String> {
    if http::StatusCode::from_u16(form.status).is_err() {
        return Err(format!("response.status: {} is none", form.status));
    }
    for (name, value) in &form.headers {
        let fits = http::HeaderName::from_bytes(name.as_bytes()).is_ok()
            && http::HeaderValue::from_str(value).is_ok();
        if !fits {
            return Err(format!("response.headers: `{name}` cannot be a header"));
        }
    }
    let body = form
        .body
        .bytes()
        .map_err(|fault| format!("response.body: {fault}"))?;
    let chunks: Vec<Chunk> = form
        .chunks
        .into_iter()
        .map(|(at, length)| Chunk { at, length })
        .collect();
    let sum = chunks
        .iter()
        .try_fold(0_usize, |sum, chunk| sum.checked_add(chunk.length));
    if !chunks.is_empty() && sum != Some(body.len()) {
        return Err(format!(
            "response.chunks: they are not of the {} bytes that the body has; take them out if you changed it",
            body.len()
        ));
    }
    Ok(Answered {
        status: form.status,
        headers: form.headers.into_iter().collect(),
        body,
        chunks,
    })
}

#[cfg(test)]
mod tests;
