//! Scripts as documents of the type `fake_script`.

use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use allm_core::json::Document;
use allm_core::{JsonError, JsonReason, Path};

use super::script::Script;
use super::step::Step;

#[derive(Serialize)]
struct Written<'a> {
    #[serde(skip_serializing_if = "<[Step]>::is_empty")]
    steps: &'a [Step],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    #[serde(default)]
    steps: Vec<Step>,
}

impl Serialize for Script {
    /// A script with a fault is not written: it does not hold all that its author said.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.check().map_err(S::Error::custom)?;
        let steps = self.steps();
        Written { steps }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Script {
    /// A script with a fault is read, and tells it like one that was built.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Read::deserialize(deserializer).map(|read| Self::of_steps(read.steps))
    }
}

impl Document for Script {
    const TYPE: &'static str = "fake_script";

    fn verify(&self) -> Result<(), JsonError> {
        self.check().map_err(|fault| {
            let path = Path::from("steps").index(fault.step - 1);
            JsonError::new(JsonReason::InvalidValue, path, fault.reason.to_string())
        })
    }
}
