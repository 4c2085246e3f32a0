//! What the tests share.

pub(crate) mod asked;
pub(crate) mod explore;
pub(crate) mod faults;
pub(crate) mod gates;
pub(crate) mod journal;
pub(crate) mod numbered;
pub(crate) mod outage;
pub(crate) mod programs;
pub(crate) mod sql;
pub(crate) mod stores;
pub(crate) mod tables;
pub(crate) mod world;
pub(crate) mod wrapped;
