//! Which built-in tools are switched on, and how they are set.

use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::source::Source;

/// `[builtin]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Builtin {
    pub(crate) read_file: Switch<Reading>,
    pub(crate) list_directory: Switch<Listing>,
    pub(crate) http_get: Switch<Fetching>,
    pub(crate) shell: Switch<Shell>,
    pub(crate) date: Switch<Nothing>,
    pub(crate) calculator: Switch<Nothing>,
}

impl Builtin {
    /// What this says, and where it is silent what the other says.
    pub(crate) fn over(self, below: Self) -> Self {
        Self {
            read_file: self.read_file.over(below.read_file),
            list_directory: self.list_directory.over(below.list_directory),
            http_get: self.http_get.over(below.http_get),
            shell: self.shell.over(below.shell),
            date: self.date.over(below.date),
            calculator: self.calculator.over(below.calculator),
        }
    }

    /// Notes which file it was read from.
    pub(crate) fn located(mut self, source: &Source) -> Self {
        self.read_file.locate(source);
        self.list_directory.locate(source);
        self.http_get.locate(source);
        self.shell.locate(source);
        self.date.locate(source);
        self.calculator.locate(source);
        self
    }
}

/// Whether a tool is offered: `true`, `false`, or a table of its settings, which switches it on.
#[derive(Clone, Debug)]
pub(crate) struct Switch<T> {
    /// `None` where nothing is said.
    said: Option<bool>,
    settings: T,
    source: Source,
}

impl<T: Default> Default for Switch<T> {
    fn default() -> Self {
        Self {
            said: None,
            settings: T::default(),
            source: Source::default(),
        }
    }
}

impl<T> Switch<T> {
    pub(crate) fn is_on(&self) -> bool {
        self.said == Some(true)
    }

    /// The settings, and the file that they stand in.
    pub(crate) const fn settings(&self) -> (&T, &Source) {
        (&self.settings, &self.source)
    }

    fn over(self, below: Self) -> Self {
        match self.said {
            Some(_) => self,
            None => below,
        }
    }

    fn locate(&mut self, source: &Source) {
        self.source = source.clone();
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Switch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Either<T> {
            type Value = Switch<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or a table of settings")
            }

            fn visit_bool<E>(self, on: bool) -> Result<Switch<T>, E> {
                Ok(Switch {
                    said: Some(on),
                    ..Switch::default()
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Switch<T>, A::Error> {
                Ok(Switch {
                    said: Some(true),
                    settings: T::deserialize(MapAccessDeserializer::new(map))?,
                    ..Switch::default()
                })
            }
        }

        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// `read_file`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Reading {
    /// The folders below which files may be read.
    pub(crate) roots: Vec<PathBuf>,
    /// How much may be read at once.
    pub(crate) max_bytes: u64,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            roots: vec![PathBuf::from(".")],
            max_bytes: 64 * 1024,
        }
    }
}

/// `list_directory`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Listing {
    /// The folders that may be listed, and those below them.
    pub(crate) roots: Vec<PathBuf>,
    /// How many entries are told.
    pub(crate) max_entries: usize,
}

impl Default for Listing {
    fn default() -> Self {
        Self {
            roots: vec![PathBuf::from(".")],
            max_entries: 500,
        }
    }
}

/// `http_get`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Fetching {
    /// The hosts that may be asked; without any, a person must agree to each call.
    pub(crate) allow: Vec<Spanned<String>>,
    /// How long a page may be.
    pub(crate) max_bytes: usize,
    /// How long it may take.
    pub(crate) timeout: Option<Spanned<String>>,
}

impl Default for Fetching {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            max_bytes: 128 * 1024,
            timeout: None,
        }
    }
}

/// `shell`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Shell {
    /// Always `always`: it may be said, and nothing else.
    pub(crate) approval: Option<AlwaysOnly>,
    /// How long a command may take.
    pub(crate) timeout: Option<Spanned<String>>,
    /// Where commands run.
    pub(crate) current_dir: Option<PathBuf>,
    /// Variables that commands get as they are here.
    pub(crate) pass_env: Vec<String>,
}

/// A shell asks before each command.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AlwaysOnly {
    Always,
}

/// A tool without settings.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Nothing {}
