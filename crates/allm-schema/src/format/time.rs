//! Dates and times of RFC 3339.

/// A number of exactly two or four digits.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + u32::from(digit - b'0'))
    })
}

pub(super) fn is_date(text: &str) -> bool {
    checked_date(text.as_bytes()).is_some()
}

fn checked_date(text: &[u8]) -> Option<()> {
    if text.len() != 10 || text.get(4) != Some(&b'-') || text.get(7) != Some(&b'-') {
        return None;
    }
    let year = number(text.get(..4)?)?;
    let day = number(text.get(8..)?)?;
    let days = match number(text.get(5..7)?)? {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => return None,
    };
    (1..=days).contains(&day).then_some(())
}

pub(super) fn is_time(text: &str) -> bool {
    checked_time(text.as_bytes()).is_some()
}

fn checked_time(text: &[u8]) -> Option<()> {
    if text.get(2) != Some(&b':') || text.get(5) != Some(&b':') {
        return None;
    }
    let hour = number(text.get(..2)?)?;
    let minute = number(text.get(3..5)?)?;
    let second = number(text.get(6..8)?)?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = text.get(8..)?;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        rest = fraction.get(digits..)?;
    }
    let offset = minutes_east(rest)?;
    // A leap second comes only at the end of a day in UTC.
    let minute_of_day = i64::from(hour * 60 + minute) - offset;
    (second < 60 || minute_of_day.rem_euclid(24 * 60) == 24 * 60 - 1).then_some(())
}

fn minutes_east(offset: &[u8]) -> Option<i64> {
    let (sign, digits) = match offset {
        b"Z" | b"z" => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    if digits.len() != 5 || digits.get(2) != Some(&b':') {
        return None;
    }
    let hours = number(digits.get(..2)?)?;
    let minutes = number(digits.get(3..)?)?;
    (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 60 + minutes))
}

pub(super) fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't'])
        .is_some_and(|(date, time)| is_date(date) && is_time(time))
}
