//! Ids of 128 bits. Whoever has a source of randomness makes them; this crate has none.

use crate::data::hex::hex_text;

macro_rules! uids {
    ($( $(#[$meta:meta])* $name:ident = $prefix:literal ),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 16]);

        hex_text!($name, $prefix);

        impl $name {
            /// The id with these bytes; they should be random.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The bytes of the id.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }
        }
    )+};
}

uids! {
    /// Tells a session from any other that has or had its id; written as 32 hex digits.
    ///
    /// ```
    /// use allm_core::SessionUid;
    ///
    /// let uid = SessionUid::from_bytes([0x9f; 16]);
    /// assert_eq!(uid.to_string(), "9f".repeat(16));
    /// assert_eq!(uid.to_string().parse(), Ok(uid));
    /// ```
    SessionUid = "",
    /// Names one append, so that asking again after a lost reply is not a second one; written as 32 hex digits.
    AppendId = "",
    /// Names one run of a session; written as `run_` and 32 hex digits.
    RunId = "run_",
    /// Names one request for a person's agreement; written as `apr_` and 32 hex digits.
    ApprovalId = "apr_",
}
