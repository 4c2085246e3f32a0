//! `date`: what time it is.

use allm::{Effect, Tool};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Asked {
    zone: Option<String>,
}

pub(super) fn tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "zone": {"type": "string", "description": "A time zone such as Europe/Oslo or UTC; without it, the local one."}
        }
    });
    Tool::new("date", "Tells the current date and time.", schema)
        .effect(Effect::Pure)
        .blocking(|asked: Asked| told(Timestamp::now(), asked.zone.as_deref()))
}

fn told(now: Timestamp, zone: Option<&str>) -> Result<String, String> {
    let zone = match zone.map(str::trim).filter(|zone| !zone.is_empty()) {
        None => TimeZone::system(),
        Some(zone) if zone.eq_ignore_ascii_case("local") => TimeZone::system(),
        Some(zone) if zone.eq_ignore_ascii_case("utc") => TimeZone::UTC,
        Some(name) => TimeZone::get(name).map_err(|_| {
            format!("there is no time zone `{name}`; say it as Europe/Oslo, or UTC")
        })?,
    };
    let now: Zoned = now.to_zoned(zone);
    let name = now.time_zone().iana_name().unwrap_or("local time");
    Ok(format!(
        "{}, {name}, week {}",
        now.strftime("%A %Y-%m-%d %H:%M:%S %:z"),
        now.date().iso_week_date().week()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_in_several_zones() {
        let moment: Timestamp = "2026-03-01T22:30:05Z".parse().expect("a moment");
        for (zone, expected) in [
            ("UTC", "Sunday 2026-03-01 22:30:05 +00:00, UTC, week 9"),
            (
                "Asia/Tokyo",
                "Monday 2026-03-02 07:30:05 +09:00, Asia/Tokyo, week 10",
            ),
            (
                "america/new_york",
                "Sunday 2026-03-01 17:30:05 -05:00, America/New_York, week 9",
            ),
        ] {
            assert_eq!(told(moment, Some(zone)).as_deref(), Ok(expected));
        }
        assert_eq!(
            told(moment, Some("Mars/Base")),
            Err("there is no time zone `Mars/Base`; say it as Europe/Oslo, or UTC".to_owned())
        );
    }
}
