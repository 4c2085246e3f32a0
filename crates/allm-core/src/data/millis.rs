//! Durations in JSON: whole milliseconds; the largest number stands for `Duration::MAX`, "no limit".

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(
    duration: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(from_millis)
}

const fn from_millis(millis: u64) -> Duration {
    match millis {
        u64::MAX => Duration::MAX,
        millis => Duration::from_millis(millis),
    }
}

/// An optional duration; used together with `default` and `skip_serializing_if`.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            None => serializer.serialize_none(),
            Some(duration) => super::serialize(duration, serializer),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(super::from_millis))
    }
}
