//! `allm sessions show`.

use super::{Desk, find, output};
use crate::arguments::{Common, Format};
use crate::problem::{Exit, Problem};
use crate::transcript::Transcript;

pub(super) async fn show(
    common: &Common,
    id: Option<String>,
    format: Format,
) -> Result<Exit, Problem> {
    let desk = Desk::open(common).await?;
    let id = find::named_or_last(&desk.sessions, id).await?;
    // It is opened first, so that an unknown id is told with the ids that look like it.
    let session = find::open(&desk.sessions, id.as_str()).await?;
    let text = match format {
        Format::Json => {
            let json = session
                .to_json()
                .map_err(|error| super::fault::told(id.as_str(), &error))?;
            let json = String::from_utf8(json);
            let json = json.map_err(|_| Problem::failed("the session is no UTF-8"))?;
            format!("{json}\n")
        }
        Format::Text => Transcript::read(&desk.sessions, &id).await?.to_text(),
        Format::Markdown => Transcript::read(&desk.sessions, &id).await?.to_markdown(),
        Format::Html => Transcript::read(&desk.sessions, &id).await?.to_html(),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}
