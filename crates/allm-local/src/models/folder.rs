//! The folder that models are kept in.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::{ModelError, ModelErrorKind};

/// The folder that models are kept in, as `<name>.gguf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// This folder.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The user's: `models` in `$ALLM_DATA_DIR`, in `$XDG_DATA_HOME/allm` or in `~/.local/share/allm`, by the first of
    /// them that is set.
    ///
    /// # Errors
    ///
    /// `not_found` when the environment names neither of them nor a home.
    pub fn of_user() -> Result<Self, ModelError> {
        Self::in_environment(|name| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        })
    }

    fn in_environment(get: impl Fn(&str) -> Option<PathBuf>) -> Result<Self, ModelError> {
        let data = get("ALLM_DATA_DIR")
            .or_else(|| Some(get("XDG_DATA_HOME")?.join("allm")))
            .or_else(|| Some(get("HOME")?.join(".local/share/allm")));
        match data {
            Some(data) => Ok(Self(data.join("models"))),
            None => {
                let message = "there is no folder for models: set ALLM_DATA_DIR";
                Err(ModelError::new(ModelErrorKind::NotFound, message))
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The file of a model: a name in this folder, or a path as it is. A text with a slash or the ending `.gguf` is a
    /// path.
    ///
    /// # Errors
    ///
    /// `invalid_name` when it can be neither.
    pub fn path(&self, model: &str) -> Result<PathBuf, ModelError> {
        if is_path(model) {
            return Ok(PathBuf::from(model));
        }
        if is_name(model) {
            return Ok(self.0.join(format!("{model}.gguf")));
        }
        let message = format!(
            "`{}` is no name of a model: use letters, digits, `-`, `_` and `.`, or a path to a GGUF file",
            model.escape_debug()
        );
        Err(ModelError::new(ModelErrorKind::InvalidName, message))
    }
}

/// Whether a text is meant as a path.
pub(super) fn is_path(text: &str) -> bool {
    text.contains('/') || text.contains(std::path::MAIN_SEPARATOR) || text.ends_with(".gguf")
}

/// Whether a text can be the name of a model.
pub(super) fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !text.is_empty() && text.len() <= 100 && !text.starts_with('.') && text.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P237
    #[test]
    fn the_environment_says_where() {
        let folder = |set: &[(&str, &str)]| {
            let get = |name: &str| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| PathBuf::from(value))
            };
            Folder::in_environment(get)
                .map(|folder| folder.0)
                .map_err(|error| error.kind())
        };
        let all = [
            ("ALLM_DATA_DIR", "/a"),
            ("XDG_DATA_HOME", "/x"),
            ("HOME", "/h"),
        ];
        assert_eq!(folder(&all), Ok(PathBuf::from("/a/models")));
        assert_eq!(folder(&all[1..]), Ok(PathBuf::from("/x/allm/models")));
        assert_eq!(
            folder(&all[2..]),
            Ok(PathBuf::from("/h/.local/share/allm/models"))
        );
        assert_eq!(folder(&[]), Err(ModelErrorKind::NotFound));
    }

    /// P237
    #[test]
    fn p237_a_model_is_a_name_or_a_path() {
        let folder = Folder::at("/m");
        let path = |model: &str| folder.path(model).map_err(|error| error.kind());
        assert_eq!(
            path("smollm2-135m"),
            Ok(PathBuf::from("/m/smollm2-135m.gguf"))
        );
        assert_eq!(path("here.gguf"), Ok(PathBuf::from("here.gguf")));
        assert_eq!(path("../x"), Ok(PathBuf::from("../x")));
        for name in ["", "..", "a b", "ö", "a:b"] {
            assert_eq!(path(name), Err(ModelErrorKind::InvalidName), "{name}");
        }
    }
}
