//! How failed attempts are repeated.

use std::time::Duration;

use allm_core::{AdapterReason, Error, StreamReason};

use super::settings::Toggle;

/// How failed attempts of a model call are repeated. One loop, one budget per model call; only before the first event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often it is tried, the first time included; 0 and 1 mean no retry.
    pub max_attempts: u32,
    /// The wait after the first failure; it doubles each time.
    pub base_delay: Duration,
    /// No wait is longer, whatever the server asks for, but for the jitter.
    pub max_delay: Duration,
    /// Up to this much is added at random.
    pub jitter: Duration,
    /// What is tried again.
    pub retry_on: Vec<RetryOn>,
    /// Whether the server's own delay counts.
    pub respect_retry_after: Toggle,
}

/// A failure that may pass: the same call may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetryOn {
    /// `rate_limited`.
    RateLimited,
    /// `provider_unavailable`.
    ProviderUnavailable,
    /// `timeout`.
    Timeout,
    /// `network_error`.
    NetworkError,
    /// `interrupted`.
    Interrupted,
    /// `stalled`.
    Stalled,
}

impl RetryOn {
    /// All that may pass, which is what is tried again if nothing else is said.
    pub const ALL: &'static [Self] = &[
        Self::RateLimited,
        Self::ProviderUnavailable,
        Self::Timeout,
        Self::NetworkError,
        Self::Interrupted,
        Self::Stalled,
    ];

    /// What kind of failure an error is; `None` if it does not pass.
    fn of(error: &Error) -> Option<Self> {
        Some(match error {
            Error::Adapter(error) => match error.reason {
                AdapterReason::RateLimited => Self::RateLimited,
                AdapterReason::ProviderUnavailable => Self::ProviderUnavailable,
                AdapterReason::Timeout => Self::Timeout,
                AdapterReason::NetworkError => Self::NetworkError,
                _ => return None,
            },
            Error::Stream(error) => match error.reason {
                StreamReason::Interrupted => Self::Interrupted,
                StreamReason::Stalled => Self::Stalled,
                StreamReason::Timeout => Self::Timeout,
                _ => return None,
            },
            _ => return None,
        })
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            base_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            jitter: Duration::from_millis(250),
            retry_on: RetryOn::ALL.to_vec(),
            respect_retry_after: Toggle::On,
        }
    }
}

impl RetryPolicy {
    /// No retry.
    #[must_use]
    pub fn none() -> Self {
        Self {
            max_attempts: 1,
            ..Self::default()
        }
    }

    /// How long to wait after this many attempts failed, the last with this error; `None` if that was the last.
    ///
    /// `random` is in `[0, 1)` and chooses the jitter.
    pub(crate) fn delay(&self, attempts: u32, error: &Error, random: f64) -> Option<Duration> {
        if attempts >= self.max_attempts.max(1) || !self.may_retry(error) {
            return None;
        }
        let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1));
        let own = self.base_delay.saturating_mul(doubled);
        let asked = error
            .retry_after()
            .filter(|_| self.respect_retry_after.is_on());
        let delay = asked.unwrap_or(own).min(self.max_delay);
        Some(delay.saturating_add(self.jitter.mul_f64(random.clamp(0.0, 1.0))))
    }

    /// Whether the same call may succeed later. The server's own word beats the reason, but for authentication.
    fn may_retry(&self, error: &Error) -> bool {
        let listed = RetryOn::of(error).is_some_and(|kind| self.retry_on.contains(&kind));
        let Error::Adapter(error) = error else {
            return listed;
        };
        let said = error
            .details
            .get("should_retry")
            .and_then(serde_json::Value::as_bool);
        match said {
            Some(said) => said && !matches!(error.status, Some(401 | 403)),
            None => listed,
        }
    }
}

#[cfg(test)]
mod tests {
    use allm_core::{AdapterError, AdapterReason};

    use super::*;

    const RETRIED: [AdapterReason; 4] = [
        AdapterReason::RateLimited,
        AdapterReason::ProviderUnavailable,
        AdapterReason::Timeout,
        AdapterReason::NetworkError,
    ];

    fn error(retry_after: Option<Duration>) -> Error {
        let mut error = AdapterError::new("p", AdapterReason::RateLimited, "later");
        error.retry_after = retry_after;
        error.into()
    }

    fn millis(policy: &RetryPolicy, attempts: u32, error: &Error) -> Option<u128> {
        policy
            .delay(attempts, error, 0.0)
            .map(|delay| delay.as_millis())
    }

    #[test]
    fn c114_waits_double_and_are_capped() {
        let policy = RetryPolicy::default();
        assert_eq!(millis(&policy, 1, &error(None)), Some(500));
        assert_eq!(millis(&policy, 2, &error(None)), Some(1000));
        assert_eq!(millis(&policy, 3, &error(None)), None);
        let capped = RetryPolicy {
            max_delay: Duration::from_millis(700),
            ..RetryPolicy::default()
        };
        assert_eq!(millis(&capped, 1, &error(None)), Some(500));
        assert_eq!(millis(&capped, 2, &error(None)), Some(700));
        assert_eq!(
            policy.delay(1, &error(None), 1.0),
            Some(Duration::from_millis(750))
        );
    }

    #[test]
    fn c117_c120_the_servers_delay_is_capped_or_ignored() {
        let hour = error(Some(Duration::from_secs(3600)));
        assert_eq!(millis(&RetryPolicy::default(), 1, &hour), Some(30_000));
        let none = error(Some(Duration::ZERO));
        assert_eq!(millis(&RetryPolicy::default(), 1, &none), Some(0));
        let deaf = RetryPolicy {
            respect_retry_after: Toggle::Off,
            ..RetryPolicy::default()
        };
        assert_eq!(millis(&deaf, 1, &hour), Some(500));
    }

    #[test]
    fn c121_c122_what_is_never_retried() {
        let policy = RetryPolicy::default();
        for reason in AdapterReason::ALL {
            let error = Error::from(AdapterError::new("p", *reason, ""));
            assert_eq!(
                policy.delay(1, &error, 0.0).is_some(),
                RETRIED.contains(reason),
                "{reason}"
            );
        }
        let mut refused = AdapterError::new("p", AdapterReason::ProviderUnavailable, "");
        refused.details.insert("should_retry".into(), false.into());
        assert_eq!(policy.delay(1, &refused.into(), 0.0), None);
        let mut allowed = AdapterError::new("p", AdapterReason::InvalidRequest, "");
        allowed.details.insert("should_retry".into(), true.into());
        assert!(policy.delay(1, &allowed.clone().into(), 0.0).is_some());
        allowed.status = Some(401);
        assert_eq!(policy.delay(1, &allowed.into(), 0.0), None);
    }

    /// Each kind alone: it is tried again, and nothing else is.
    #[test]
    fn only_what_is_listed_is_tried_again() {
        for (kind, retried) in RetryOn::ALL.iter().zip(RETRIED) {
            let policy = RetryPolicy {
                retry_on: vec![*kind],
                ..RetryPolicy::default()
            };
            for reason in RETRIED {
                let error = Error::from(AdapterError::new("p", reason, ""));
                assert_eq!(
                    policy.delay(1, &error, 0.0).is_some(),
                    reason == retried,
                    "{reason}"
                );
            }
        }
        for (kind, reason) in [
            (RetryOn::Interrupted, StreamReason::Interrupted),
            (RetryOn::Stalled, StreamReason::Stalled),
            (RetryOn::Timeout, StreamReason::Timeout),
        ] {
            let error = Error::from(allm_core::StreamError::new(reason, ""));
            for listed in RetryOn::ALL {
                let policy = RetryPolicy {
                    retry_on: vec![*listed],
                    ..RetryPolicy::default()
                };
                assert_eq!(policy.delay(1, &error, 0.0).is_some(), *listed == kind);
            }
        }
    }

    #[test]
    fn c128_zero_and_one_attempt_are_one() {
        for max_attempts in [0, 1] {
            let policy = RetryPolicy {
                max_attempts,
                ..RetryPolicy::default()
            };
            assert_eq!(policy.delay(1, &error(None), 0.0), None);
        }
    }
}
