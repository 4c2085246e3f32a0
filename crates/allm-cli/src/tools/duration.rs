//! Lengths of time, as files say them.

use std::time::Duration;

use jiff::SignedDuration;
use toml::Spanned;

use crate::config::Source;
use crate::problem::Problem;

/// A length of time such as `10s`, `1m 30s` or `250ms`.
pub(crate) fn read(said: &Spanned<String>, source: &Source) -> Result<Duration, Problem> {
    let text = said.get_ref();
    let length = text.parse::<SignedDuration>().ok();
    let length = length.and_then(|length| Duration::try_from(length).ok());
    length.filter(|length| !length.is_zero()).ok_or_else(|| {
        source
            .problem(&said.span(), format!("`{text}` is no length of time"))
            .advice("write it as \"10s\", \"1m 30s\" or \"250ms\"")
    })
}
