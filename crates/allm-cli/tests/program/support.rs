//! What the tests have in common.

pub(crate) mod home;
pub(crate) mod masked;
pub(crate) mod model;
pub(crate) mod pages;
pub(crate) mod patience;
pub(crate) mod screen;
pub(crate) mod stored;

pub(crate) use home::Home;
pub(crate) use masked::{assert_expected, masked};
pub(crate) use patience::{ended, until};
