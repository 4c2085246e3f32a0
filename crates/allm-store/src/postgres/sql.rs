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
        self.text.reserve(bytes.len() * 2 + 20);
        self.text.push_str("decode('");
        // Piece by piece: a long entry has millions of digits.
        let mut digits = [0; 512];
        for piece in bytes.chunks(digits.len() / 2) {
            for (pair, byte) in digits.chunks_exact_mut(2).zip(piece) {
                pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
            }
            let written = digits.get(..piece.len() * 2).unwrap_or_default();
            self.text
                .push_str(std::str::from_utf8(written).unwrap_or_default());
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

const fn digit(value: u8) -> u8 {
    match value {
        0..=9 => b'0' + value,
        _ => b'a' - 10 + value,
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

    #[test]
    fn every_byte_of_a_long_content_is_written() {
        let bytes: Vec<u8> = (0..=255).cycle().take(700).collect();
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let sql = Sql::new("").bytes(&bytes).finish();
        assert_eq!(sql, format!("decode('{digits}','hex')"));
    }
}
