//! Time limits of a model call, each a setting of its own.

use std::time::Duration;

use allm_core::Timeouts;

use super::level::Level;
use super::settings::Settings;

fn level(limit: Option<Duration>) -> Level<Duration> {
    limit.map_or(Level::Off, Level::Set)
}

impl Settings {
    /// Says something of every limit; `None` is no limit.
    pub(crate) fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.connect_timeout = level(timeouts.connect);
        self.first_byte_timeout = level(timeouts.first_byte);
        self.idle_timeout = level(timeouts.idle);
        self.stall_timeout = level(timeouts.stall);
        self.deadline = level(timeouts.deadline);
        self.key_timeout = level(timeouts.key);
    }

    /// The limits, with the defaults where no level says anything. A limit that is switched off is no limit.
    pub(crate) fn timeouts(&self) -> Timeouts {
        self.timeouts_or(Timeouts::default())
    }

    /// The limits, with these where no level says anything.
    pub(crate) fn timeouts_or(&self, default: Timeouts) -> Timeouts {
        Timeouts {
            connect: self.connect_timeout.get_or(default.connect),
            first_byte: self.first_byte_timeout.get_or(default.first_byte),
            idle: self.idle_timeout.get_or(default.idle),
            stall: self.stall_timeout.get_or(default.stall),
            deadline: self.deadline.get_or(default.deadline),
            key: self.key_timeout.get_or(default.key),
        }
    }
}
