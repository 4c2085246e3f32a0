//! Where models are kept, and how they are obtained.
//!
//! A model is a file `<name>.gguf` in a [`Folder`]. [`pull`] puts one there: a known one by its name, or any other by
//! its address or path.

mod address;
mod download;
mod folder;
mod http;
mod index;
mod known;
mod lock;
mod part;
mod pip;
mod pull;
mod space;
mod unpack;

pub use folder::Folder;
pub use known::{KNOWN, Known, known};
pub use pull::{Progress, Pull, pull, pull_blocking};
