//! Listings, page by page.

use serde::{Deserialize, Serialize};

use crate::data::id::Cursor;
use crate::error::{Fault, FaultCode, ValidationError, ValidationReason};

/// Which page of a listing, and how long it may be.
///
/// ```
/// use allm_core::PageRequest;
///
/// assert_eq!(PageRequest::default().size(), 50);
/// assert!(PageRequest::new(501).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PageForm")]
pub struct PageRequest {
    size: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<Cursor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageForm {
    #[serde(default = "default_size")]
    size: u32,
    #[serde(default)]
    cursor: Option<Cursor>,
}

const fn default_size() -> u32 {
    PageRequest::DEFAULT_SIZE
}

impl TryFrom<PageForm> for PageRequest {
    type Error = ValidationError;

    fn try_from(form: PageForm) -> Result<Self, ValidationError> {
        Ok(Self {
            cursor: form.cursor,
            ..Self::new(form.size)?
        })
    }
}

impl PageRequest {
    /// The longest page.
    pub const MAX_SIZE: u32 = 500;
    /// How long a page is if nobody says otherwise.
    pub const DEFAULT_SIZE: u32 = 50;

    /// The first page, of at most `size` items.
    ///
    /// # Errors
    ///
    /// `invalid_session_input` with a fault at `size` outside 1 to 500.
    pub fn new(size: u32) -> Result<Self, ValidationError> {
        if (1..=Self::MAX_SIZE).contains(&size) {
            Ok(Self { size, cursor: None })
        } else {
            let fault = Fault::new("size", FaultCode::OutOfRange).detail("1 to 500");
            Err(ValidationError::new(
                ValidationReason::InvalidSessionInput,
                vec![fault],
            ))
        }
    }

    /// The page that this cursor leads to.
    #[must_use]
    pub fn after(self, cursor: Cursor) -> Self {
        Self {
            cursor: Some(cursor),
            ..self
        }
    }

    /// How many items at most.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// Where to go on; `None` for the first page.
    #[must_use]
    pub const fn cursor(&self) -> Option<&Cursor> {
        self.cursor.as_ref()
    }
}

impl Default for PageRequest {
    /// The first page, of at most 50 items.
    fn default() -> Self {
        Self {
            size: Self::DEFAULT_SIZE,
            cursor: None,
        }
    }
}

/// A page of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page<T> {
    /// The items, in order.
    pub items: Vec<T>,
    /// Leads to the next page; `None` on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Cursor>,
}
