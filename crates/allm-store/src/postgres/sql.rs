//! Statements as text.
//!
//! A prepared statement lives in a connection, and behind a pooler the next transaction has another one. So values stand
//! in the text. Whatever comes from outside is written as hexadecimal digits, which have nothing to escape.

use std::fmt::Write as _;

use allm_core::Timestamp;

/// A statement being written.
pub(super) struct Sql {
    text: String,
    schema: String,
}

impl Sql {
    pub(super) fn new(schema: &str) -> Self {
        Self {
            text: String::with_capacity(1024),
            schema: schema.to_owned(),
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Text of ours.
    pub(super) fn push(mut self, text: &'static str) -> Self {
        self.text.push_str(text);
        self
    }

    /// A table or function of ours.
    pub(super) fn name(mut self, name: &'static str) -> Self {
        self.text.push_str(&self.schema);
        self.text.push('.');
        self.text.push_str(name);
        self
    }

    pub(super) fn int(mut self, value: i64) -> Self {
        // Writing to a text cannot fail. The cast is for functions that could take a shorter one.
        let _ = write!(self.text, "{value}::bigint");
        self
    }

    pub(super) fn optional_int(self, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.int(value),
            None => self.push("NULL"),
        }
    }

    pub(super) fn time(self, time: Option<Timestamp>) -> Self {
        self.optional_int(time.map(Timestamp::as_millis))
    }

    pub(super) fn flag(self, value: bool) -> Self {
        self.push(if value { "true" } else { "false" })
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.text.reserve(bytes.len() * 2 + 20);
        self.text.push_str("decode('");
        let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
        for byte in bytes {
            self.text.push(char::from(digit(byte >> 4)));
            self.text.push(char::from(digit(byte & 15)));
        }
        self.text.push_str("','hex')");
        self
    }

    pub(super) fn optional_bytes(self, bytes: Option<&[u8]>) -> Self {
        match bytes {
            Some(bytes) => self.bytes(bytes),
            None => self.push("NULL"),
        }
    }

    pub(super) fn text(self, text: &str) -> Self {
        let open = self.push("convert_from(");
        open.bytes(text.as_bytes()).push(",'UTF8')")
    }

    /// An array, with each item written by `item`.
    pub(super) fn array<T>(
        self,
        items: impl IntoIterator<Item = T>,
        item: impl Fn(Self, T) -> Self,
        cast: &'static str,
    ) -> Self {
        let mut sql = self.push("ARRAY[");
        for (index, value) in items.into_iter().enumerate() {
            if index > 0 {
                sql = sql.push(",");
            }
            sql = item(sql, value);
        }
        sql.push("]::").push(cast)
    }
}

/// A name as SQL writes it, whatever characters it has.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s116_nothing_from_outside_stands_in_a_statement_as_it_is() {
        let sql = Sql::new(&quoted("a\"b")).push("SELECT ").name("f(");
        let sql = sql.text("'; --").push(", ").int(-5).push(", ");
        let sql = sql.array([&b"\xff"[..], b""], Sql::bytes, "bytea[]");
        let expected = "SELECT \"a\"\"b\".f(convert_from(decode('273b202d2d','hex'),'UTF8'), -5::bigint, \
                        ARRAY[decode('ff','hex'),decode('','hex')]::bytea[]";
        assert_eq!(sql.finish(), expected);
    }
}
