#![allow(missing_docs)]
use serde::{Deserialize, Serialize};
use std::sync::Arc;
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RawJson(Arc<str>);
impl RawJson {
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, crate::error::JsonError> {
        Ok(Self(text.into()))
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
