//! A statement that is put together, with the values in their order.

use rusqlite::types::Value;

pub(super) struct Sql {
    pub(super) text: String,
    pub(super) values: Vec<Value>,
}

impl Sql {
    pub(super) fn new(text: &str) -> Self {
        let (text, values) = (text.to_owned(), Vec::new());
        Self { text, values }
    }

    pub(super) fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    pub(super) fn bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.values.push(value.into());
        self.push("?")
    }
}
