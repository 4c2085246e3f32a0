//! How long each part of a call may take.

use std::time::Duration;

use crate::error::{EngineError, EngineReason};

/// How long each part of a model call may take; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To connect: name, TCP and TLS. 10 s; expires as `timeout`.
    pub connect: Option<Duration>,
    /// From the request sent to the head of the answer. 120 s; expires as `timeout`.
    pub first_byte: Option<Duration>,
    /// Silence between bytes of the body; a comment or a ping counts as life. 60 s; expires as `timeout`.
    pub idle: Option<Duration>,
    /// No event, although bytes may flow. 600 s; expires as `stalled`.
    pub stall: Option<Duration>,
    /// The whole call, waits and retries included. No limit; expires as `timeout`.
    pub deadline: Option<Duration>,
    /// One lookup of a key. 5 s; expires as `key_source_failed`.
    pub key: Option<Duration>,
}

impl Timeouts {
    /// No limit anywhere.
    pub const NONE: Self = Self {
        connect: None,
        first_byte: None,
        idle: None,
        stall: None,
        deadline: None,
        key: None,
    };

    /// Checks that no limit is zero.
    ///
    /// # Errors
    ///
    /// `invalid_config`, naming the first limit that is.
    pub fn check(&self) -> Result<(), EngineError> {
        let limits = [
            ("connect", self.connect),
            ("first_byte", self.first_byte),
            ("idle", self.idle),
            ("stall", self.stall),
            ("deadline", self.deadline),
            ("key", self.key),
        ];
        match limits
            .iter()
            .find(|(_, limit)| *limit == Some(Duration::ZERO))
        {
            None => Ok(()),
            Some((name, _)) => Err(EngineError::new(
                EngineReason::InvalidConfig,
                format!("timeouts.{name} is zero; leave it out for no limit"),
            )),
        }
    }
}

impl Default for Timeouts {
    /// The limits that hold if nobody says otherwise.
    fn default() -> Self {
        Self {
            connect: Some(Duration::from_secs(10)),
            first_byte: Some(Duration::from_secs(120)),
            idle: Some(Duration::from_secs(60)),
            stall: Some(Duration::from_secs(600)),
            deadline: None,
            key: Some(Duration::from_secs(5)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c133_zero_is_invalid_config() {
        assert_eq!(Timeouts::default().check(), Ok(()));
        assert_eq!(Timeouts::NONE.check(), Ok(()));
        let timeouts = Timeouts {
            idle: Some(Duration::ZERO),
            ..Timeouts::default()
        };
        let error = timeouts.check().expect_err("zero");
        assert_eq!(error.reason, EngineReason::InvalidConfig);
        assert!(error.message.contains("timeouts.idle"));
    }
}
