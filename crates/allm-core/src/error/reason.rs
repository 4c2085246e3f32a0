//! The macro behind the closed sets of reasons.

/// Declares a closed set of reasons: an enum whose text form is snake_case, stable and complete.
///
/// `retryable` lists the reasons after which the same call may succeed later.
macro_rules! reasons {
    (
        $(#[$meta:meta])*
        $name:ident, retryable [$($retryable:ident),* $(,)?] {
            $( $(#[$variant_meta:meta])* $variant:ident => $text:literal ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$variant_meta])* #[serde(rename = $text)] $variant ),+
        }

        impl $name {
            /// Every reason of the set, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The stable snake_case code.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The reason with this code; `None` for a code outside the set.
            #[must_use]
            pub fn from_code(code: &str) -> Option<Self> {
                match code { $($text => Some(Self::$variant),)+ _ => None }
            }

            /// Whether the same call may succeed later.
            #[must_use]
            pub const fn is_retryable(self) -> bool {
                match self { $(Self::$retryable => true,)* #[allow(unreachable_patterns, reason = "a set may be retryable as a whole")] _ => false }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use reasons;
