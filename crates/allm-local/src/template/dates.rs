//! Today, in the words of a template.

use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = [
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The present time (UTC) in a format such as `%d %b %Y`.
pub(super) fn now(format: &str) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    at(since.map_or(0, |since| since.as_secs()), format)
}

/// A time in seconds since 1970, in a format.
fn at(seconds: u64, format: &str) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let weekday = DAYS.get(index(days % 7)).copied().unwrap_or_default();
    let month_name = MONTHS.get(index(month - 1)).copied().unwrap_or_default();
    let short = |name: &str| name.chars().take(3).collect::<String>();
    let mut text = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('Y') => text += &year.to_string(),
            Some('y') => text += &format!("{:02}", year % 100),
            Some('m') => text += &format!("{month:02}"),
            Some('B') => text += month_name,
            Some('b' | 'h') => text += &short(month_name),
            Some('d') => text += &format!("{day:02}"),
            Some('A') => text += weekday,
            Some('a') => text += &short(weekday),
            Some('H') => text += &format!("{:02}", second / 3600),
            Some('M') => text += &format!("{:02}", second / 60 % 60),
            Some('S') => text += &format!("{:02}", second % 60),
            Some('F') => text += &format!("{year}-{month:02}-{day:02}"),
            Some('%') | None => text.push('%'),
            Some(other) => text.extend(['%', other]),
        }
    }
    text
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Year, month and day of a number of days since 1970.
fn date(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(
            at(0, "%A %d %B %Y %H:%M:%S"),
            "Thursday 01 January 1970 00:00:00"
        );
        assert_eq!(at(951_782_400, "%a %F"), "Tue 2000-02-29");
        assert_eq!(at(1_735_689_599, "%d %b %y, %H:%M%%"), "31 Dec 24, 23:59%");
    }
}
