//! Durations in JSON: whole milliseconds; the largest number stands for `Duration::MAX`, "no limit".

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

/// An optional duration; used together with `default` and `skip_serializing_if`.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Duration, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            None => serializer.serialize_none(),
            Some(duration) => {
                serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
            }
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let millis = Option::<u64>::deserialize(deserializer)?;
        Ok(millis.map(|millis| match millis {
            u64::MAX => Duration::MAX,
            millis => Duration::from_millis(millis),
        }))
    }
}
