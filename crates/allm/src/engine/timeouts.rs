//! Time limits, chosen field by field.

use std::time::Duration;

use allm_core::Timeouts;

use super::level::Level;

/// What one level says of the time limits. A limit that is switched off is no limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimeoutChoice {
    connect: Level<Duration>,
    first_byte: Level<Duration>,
    idle: Level<Duration>,
    stall: Level<Duration>,
    deadline: Level<Duration>,
    key: Level<Duration>,
}

fn level(limit: Option<Duration>) -> Level<Duration> {
    limit.map_or(Level::Off, Level::Set)
}

impl From<Timeouts> for TimeoutChoice {
    fn from(timeouts: Timeouts) -> Self {
        Self {
            connect: level(timeouts.connect),
            first_byte: level(timeouts.first_byte),
            idle: level(timeouts.idle),
            stall: level(timeouts.stall),
            deadline: level(timeouts.deadline),
            key: level(timeouts.key),
        }
    }
}

impl TimeoutChoice {
    pub(crate) fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = Level::Set(deadline);
    }

    pub(crate) fn over(&self, lower: &Self) -> Self {
        Self {
            connect: self.connect.or(&lower.connect),
            first_byte: self.first_byte.or(&lower.first_byte),
            idle: self.idle.or(&lower.idle),
            stall: self.stall.or(&lower.stall),
            deadline: self.deadline.or(&lower.deadline),
            key: self.key.or(&lower.key),
        }
    }

    /// The limits, with the defaults where no level says anything.
    pub(crate) fn resolve(&self) -> Timeouts {
        let all = self.over(&Timeouts::default().into());
        Timeouts {
            connect: all.connect.get(),
            first_byte: all.first_byte.get(),
            idle: all.idle.get(),
            stall: all.stall.get(),
            deadline: all.deadline.get(),
            key: all.key.get(),
        }
    }
}
