//! Constants and functions.

use super::Fault;
use super::number::Number;

use Number::{Real, Whole};

/// How many decimal places `round` can keep.
const MAX_PLACES: i128 = 15;

/// A number with a name.
pub(super) fn constant(name: &str) -> Option<Number> {
    Some(Real(match name {
        "pi" | "π" => std::f64::consts::PI,
        "tau" => std::f64::consts::TAU,
        "e" => std::f64::consts::E,
        _ => return None,
    }))
}

/// A function of these numbers.
pub(super) fn function(name: &str, of: &[Number], column: usize) -> Result<Number, Fault> {
    let fault = |what: String| Fault::new(column, what);
    match name {
        "min" | "max" => {
            let chosen = of.iter().copied().reduce(|best, next| {
                let is_better = match name {
                    "min" => next.compare(best).is_lt(),
                    _ => next.compare(best).is_gt(),
                };
                if is_better { next } else { best }
            });
            chosen.ok_or_else(|| fault(format!("`{name}` needs at least one number")))
        }
        "round" => match of {
            [number] => Ok(whole(*number, f64::round)),
            [number, places] => round_to(*number, *places, column),
            _ => Err(fault(
                "`round` takes a number, and how many decimal places".to_owned(),
            )),
        },
        _ => {
            let one = one(name).ok_or_else(|| fault(unknown(name)))?;
            let [number] = of else {
                return Err(fault(format!(
                    "`{name}` takes one number, not {}",
                    of.len()
                )));
            };
            let value = one(*number);
            match value {
                Real(real) if real.is_nan() => {
                    Err(fault(format!("`{name}` has no real value there")))
                }
                Real(real) if real.is_infinite() => {
                    Err(fault(format!("`{name}` has no finite value there")))
                }
                value => Ok(value),
            }
        }
    }
}

fn one(name: &str) -> Option<fn(Number) -> Number> {
    macro_rules! real {
        ($function:expr) => {
            |number| Real($function(number.real()))
        };
    }
    Some(match name {
        "abs" => Number::absolute,
        "sqrt" => Number::root,
        "floor" => |number| whole(number, f64::floor),
        "ceil" => |number| whole(number, f64::ceil),
        "trunc" => |number| whole(number, f64::trunc),
        "cbrt" => real!(f64::cbrt),
        "exp" => real!(f64::exp),
        "ln" => real!(f64::ln),
        "log10" => real!(f64::log10),
        "log2" => real!(f64::log2),
        "sin" => real!(f64::sin),
        "cos" => real!(f64::cos),
        "tan" => real!(f64::tan),
        "asin" => real!(f64::asin),
        "acos" => real!(f64::acos),
        "atan" => real!(f64::atan),
        "degrees" => real!(f64::to_degrees),
        "radians" => real!(f64::to_radians),
        _ => return None,
    })
}

fn unknown(name: &str) -> String {
    match name {
        "log" => "say `ln`, `log10` or `log2` for a logarithm".to_owned(),
        _ => format!("there is no function `{name}`"),
    }
}

fn whole(number: Number, rounded: fn(f64) -> f64) -> Number {
    match number {
        Whole(_) => number,
        Real(real) => Number::settled(rounded(real)),
    }
}

fn round_to(number: Number, places: Number, column: usize) -> Result<Number, Fault> {
    let Whole(places @ 0..=MAX_PLACES) = places else {
        let what = format!("`round` keeps 0 to {MAX_PLACES} decimal places");
        return Err(Fault::new(column, what));
    };
    let Real(real) = number else {
        return Ok(number);
    };
    // By the decimal text, so that 2.675 is rounded as it is written and not as it is stored.
    let text = format!("{real:.14e}");
    let written: f64 = text.parse().unwrap_or(real);
    #[expect(clippy::cast_possible_truncation, reason = "it is at most 15")]
    let scale = 10_f64.powi(places as i32);
    let scaled = written * scale;
    // The product of a number that ends in 5 may fall short by a hair.
    let nudged = scaled + scaled.signum() * scaled.abs() * f64::EPSILON;
    Ok(match scaled.is_finite() {
        true => Real(nudged.round() / scale),
        false => number,
    })
}
