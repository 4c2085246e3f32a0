//! What one level says of a setting.

use super::settings::Toggle;

/// What one level (call, request, engine) says of a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Level<T> {
    /// Nothing: the next level decides.
    #[default]
    Inherit,
    /// It is not set, whatever the next levels say.
    Off,
    /// This value.
    Set(T),
}

impl<T: Clone> Level<T> {
    /// What this level says, else what the lower one does.
    pub(crate) fn or(&self, lower: &Self) -> Self {
        match self {
            Self::Inherit => lower.clone(),
            Self::Off => Self::Off,
            Self::Set(value) => Self::Set(value.clone()),
        }
    }

    /// The value; the default where no level says anything, nothing where one says off.
    pub(crate) fn get_or(&self, default: Option<T>) -> Option<T> {
        match self {
            Self::Inherit => default,
            Self::Off => None,
            Self::Set(value) => Some(value.clone()),
        }
    }

    /// The value, if there is one.
    pub(crate) fn get(&self) -> Option<T> {
        match self {
            Self::Set(value) => Some(value.clone()),
            Self::Inherit | Self::Off => None,
        }
    }
}

impl Level<Toggle> {
    /// Whether it is on; the default counts only where no level says anything.
    pub(crate) fn is_on(&self, default: Toggle) -> bool {
        self.get_or(Some(default)).is_some_and(Toggle::is_on)
    }
}

impl<T> From<Option<T>> for Level<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Inherit, Self::Set)
    }
}
