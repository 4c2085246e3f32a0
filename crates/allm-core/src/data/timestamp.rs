//! Points in time: UTC, whole milliseconds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time: UTC, whole milliseconds, written as RFC 3339 (`2026-08-22T09:00:00.000Z`).
///
/// Years 0000 to 9999. This crate has no clock: whoever has one makes the value.
///
/// ```
/// use allm_core::Timestamp;
///
/// let time: Timestamp = "2026-08-22T09:00:00.000Z".parse()?;
/// assert_eq!(time.to_string(), "2026-08-22T09:00:00.000Z");
/// # Ok::<(), allm_core::InvalidTimestamp>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// A text, or a count, that is not a point in time between the years 0000 and 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTimestamp;

impl fmt::Display for InvalidTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a time: expected RFC 3339 in UTC, as in `2026-08-22T09:00:00.000Z`")
    }
}

impl std::error::Error for InvalidTimestamp {}

const DAY: i64 = 86_400_000;
/// 0000-01-01T00:00:00.000Z
const FIRST: i64 = -62_167_219_200_000;
/// 9999-12-31T23:59:59.999Z
const LAST: i64 = 253_402_300_799_999;

impl Timestamp {
    /// From milliseconds since 1970-01-01.
    ///
    /// # Errors
    ///
    /// Outside the years 0000 to 9999.
    pub const fn from_millis(millis: i64) -> Result<Self, InvalidTimestamp> {
        if millis < FIRST || millis > LAST {
            Err(InvalidTimestamp)
        } else {
            Ok(Self(millis))
        }
    }

    /// Milliseconds since 1970-01-01.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

/// The date of a day counted from 1970-01-01, by the calendar of 400-year cycles.
const fn date_of(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let cycle = day.div_euclid(146_097);
    let day = day.rem_euclid(146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + cycle * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

const fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let year = year.rem_euclid(400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    cycle * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 719_468
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date_of(self.0.div_euclid(DAY));
        let rest = self.0.rem_euclid(DAY);
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
        let (second, milli) = (rest / 1000 % 60, rest % 1000);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let (year_at, month_at, day_at) = (0..4, 5..7, 8..10);
        let (hour_at, minute_at, second_at, milli_at) = (11..13, 14..16, 17..19, 20..23);
        for (number, place) in [
            (year, year_at),
            (month, month_at),
            (day, day_at),
            (hour, hour_at),
            (minute, minute_at),
            (second, second_at),
            (milli, milli_at),
        ] {
            put_digits(number, text.get_mut(place).unwrap_or_default());
        }
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

/// Every entry of a journal has some times in it, and the machinery of formatting costs more than all else that is
/// written of them.
fn put_digits(number: i64, place: &mut [u8]) {
    let mut rest = number.unsigned_abs();
    for digit in place.iter_mut().rev() {
        // Below ten.
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Reads UTC times with 0 to 9 digits of a second's fraction; what is finer than a millisecond is dropped.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let text = text.strip_suffix('Z').ok_or(InvalidTimestamp)?;
        let (date, time) = text.split_once('T').ok_or(InvalidTimestamp)?;
        let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
        let digits = fraction.len();
        if !(1..=9).contains(&digits) || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return Err(InvalidTimestamp);
        }
        let fraction: i64 = fraction.parse().map_err(|_| InvalidTimestamp)?;
        let milli = match digits {
            1 => fraction * 100,
            2 => fraction * 10,
            digits => fraction / 10_i64.pow(u32::try_from(digits - 3).unwrap_or(0)),
        };
        let days = day_of(year, month, day);
        let is_date = date_of(days) == (year, month, day);
        if !is_date || hour > 23 || minute > 59 || second > 59 {
            return Err(InvalidTimestamp);
        }
        Self::from_millis(days * DAY + ((hour * 60 + minute) * 60 + second) * 1000 + milli)
    }
}

/// Three numbers of exactly these many digits.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Result<[i64; 3], InvalidTimestamp> {
    let mut pieces = text.split(separator);
    let mut read = |digits: usize| {
        let piece = pieces.next().ok_or(InvalidTimestamp)?;
        if piece.len() != digits || !piece.bytes().all(|b| b.is_ascii_digit()) {
            return Err(InvalidTimestamp);
        }
        piece.parse::<i64>().map_err(|_| InvalidTimestamp)
    };
    let [first, second, third] = digits;
    let numbers = [read(first)?, read(second)?, read(third)?];
    match pieces.next() {
        None => Ok(numbers),
        Some(_) => Err(InvalidTimestamp),
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_writes() {
        for text in [
            "1970-01-01T00:00:00.000Z",
            "2000-02-29T23:59:59.999Z",
            "1969-12-31T23:59:59.999Z",
            "0000-01-01T00:00:00.000Z",
            "9999-12-31T23:59:59.999Z",
        ] {
            let time: Timestamp = text.parse().expect(text);
            assert_eq!(time.to_string(), text);
            assert_eq!(Timestamp::from_millis(time.as_millis()), Ok(time));
        }
        assert_eq!(
            "1970-01-01T00:00:00Z"
                .parse::<Timestamp>()
                .map(Timestamp::as_millis),
            Ok(0)
        );
        assert_eq!(
            "1970-01-01T00:00:00.1Z"
                .parse::<Timestamp>()
                .map(Timestamp::as_millis),
            Ok(100)
        );
        assert_eq!(
            "1970-01-01T00:00:00.123999Z"
                .parse::<Timestamp>()
                .map(Timestamp::as_millis),
            Ok(123)
        );
    }

    #[test]
    fn every_day_of_four_centuries() {
        for day in day_of(1900, 1, 1)..day_of(2300, 1, 1) {
            let (year, month, date) = date_of(day);
            assert_eq!(day_of(year, month, date), day);
        }
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in [
            "",
            "Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00+01:00",
            "2026-01-01 00:00:00Z",
            "2026-1-1T00:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1234567890Z",
            "+026-01-01T00:00:00Z",
            "2026-01-01-01T00:00:00Z",
        ] {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
        }
        assert_eq!(Timestamp::from_millis(i64::MAX), Err(InvalidTimestamp));
        assert_eq!(Timestamp::from_millis(i64::MIN), Err(InvalidTimestamp));
    }
}
