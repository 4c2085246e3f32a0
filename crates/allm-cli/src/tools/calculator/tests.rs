//! Expressions that people write, mistakes, and random ones against a reference.

use proptest::prelude::*;

use super::number::Number;
use super::{parse, value};

fn is(expression: &str, expected: &str) {
    assert_eq!(value(expression).as_deref(), Ok(expected), "{expression}");
}

#[test]
fn what_binds_how_tight() {
    for (expression, expected) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("2 ^ 3 ^ 2", "512"),
        ("2**3", "8"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2^-1", "0.5"),
        ("--3", "3"),
        ("2 * -3", "-6"),
        ("7 % 3 * 2", "2"),
        ("-7 % 3", "-1"),
        ("6 × 7 − 2 ÷ 1", "40"),
    ] {
        is(expression, expected);
    }
}

#[test]
fn whole_numbers_are_exact_while_they_fit() {
    is("2^100", "1267650600228229401496703205376");
    is(
        "170141183460469231731687303715884105727 + 0",
        "170141183460469231731687303715884105727",
    );
    is(
        "170141183460469231731687303715884105727 + 1",
        "1.70141183460469e38",
    );
    is("99999999999999999999 * 3", "299999999999999999997");
    is("84 / 2", "42");
    is("1 / 3", "0.333333333333333");
    is(
        "sqrt(152415787532388367501905199875019052100)",
        "12345678901234567890",
    );
    is("floor(-2.5) + ceil(2.1) + trunc(-2.9)", "-2");
}

#[test]
fn numbers_that_are_not_whole() {
    is("0.1 + 0.2", "0.3");
    is(".5 + 1.", "1.5");
    is("1.5e3", "1500");
    is("round(2.675, 2)", "2.68");
    is("round(-2.5)", "-3");
    is("round(1234.5678, 1)", "1234.6");
    is("min(3, 1.5, 2) + max(4)", "5.5");
    is("sin(pi / 2)", "1");
    is("ln(e)", "1");
    is("10^-9", "1e-9");
    is("1e300 * 10", "1e301");
    is("0 * -1.5", "0");
}

#[test]
fn mistakes_are_told_with_their_column() {
    for (expression, expected) in [
        ("", "column 1: a number is missing"),
        ("1 +", "column 4: a number is missing"),
        ("(1 + 2", "column 7: a `)` is missing"),
        ("1 + 2)", "column 6: `)` does not belong here"),
        ("3 / (2 - 2)", "column 3: division by zero"),
        ("3 % 0", "column 3: division by zero"),
        ("0 ^ -1", "column 3: division by zero"),
        ("1..2", "column 3: `.` does not belong here"),
        ("2(3)", "column 2: `(` does not belong here"),
        ("2e", "column 2: `e` does not belong here"),
        ("foo + 1", "column 1: `foo` means nothing here"),
        ("1 + bar(2)", "column 5: there is no function `bar`"),
        (
            "log(2)",
            "column 1: say `ln`, `log10` or `log2` for a logarithm",
        ),
        ("sqrt(1, 2)", "column 1: `sqrt` takes one number, not 2"),
        ("min()", "column 1: `min` needs at least one number"),
        ("sqrt(-1)", "column 1: `sqrt` has no real value there"),
        ("ln(0)", "column 1: `ln` has no finite value there"),
        ("(-8)^0.5", "column 1: the result is no real number"),
        ("10^400", "column 1: the result is too large"),
        ("2 3", "column 3: `3` does not belong here"),
        ("é $", "column 1: `é` means nothing here"),
        (".", "column 1: `.` is no number"),
        ("* 2", "column 1: a number is missing before `*`"),
    ] {
        assert_eq!(value(expression), Err(expected.to_owned()), "{expression}");
    }
    let deep = format!("{}1{}", "(".repeat(1000), ")".repeat(1000));
    assert_eq!(
        value(&deep),
        Err("column 101: the expression nests deeper than 100 levels".to_owned())
    );
    assert!(value(&"2^".repeat(4_000)).is_err());
    assert!(value(&"1+".repeat(6_000)).is_err());
}

/// An expression as a tree, for which it is plain what it means.
#[derive(Clone, Debug)]
enum Tree {
    Whole(i64),
    Negative(Box<Tree>),
    Two(char, Box<Tree>, Box<Tree>),
}

impl Tree {
    /// How tight it binds.
    fn rank(&self) -> u8 {
        match self {
            Self::Two('+' | '-', ..) => 0,
            Self::Two('*' | '/' | '%', ..) => 1,
            Self::Negative(_) => 2,
            Self::Two(..) => 3,
            Self::Whole(_) => 4,
        }
    }

    /// Written with as few parentheses as the rules allow.
    fn write(&self, at_least: u8) -> String {
        let text = match self {
            Self::Whole(whole) => whole.to_string(),
            Self::Negative(of) => format!("-{}", of.write(2)),
            Self::Two('^', base, exponent) => {
                format!("{}^{}", base.write(4), exponent.write(2))
            }
            Self::Two(sign, left, right) => {
                let rank = self.rank();
                format!("{} {sign} {}", left.write(rank), right.write(rank + 1))
            }
        };
        match self.rank() < at_least {
            true => format!("({text})"),
            false => text,
        }
    }

    /// Its value as an exact fraction, or nothing where there is none or it does not fit.
    fn exact(&self) -> Option<(i128, i128)> {
        let reduced = |(top, bottom): (i128, i128)| {
            let divisor = divisor(top.checked_abs()?, bottom.checked_abs()?);
            let sign = bottom.signum();
            Some((top / divisor * sign, bottom / divisor * sign))
        };
        Some(match self {
            Self::Whole(whole) => (i128::from(*whole), 1),
            Self::Negative(of) => {
                let (top, bottom) = of.exact()?;
                (top.checked_neg()?, bottom)
            }
            Self::Two(sign, left, right) => {
                let ((a, b), (c, d)) = (left.exact()?, right.exact()?);
                let (ad, cb) = (a.checked_mul(d)?, c.checked_mul(b)?);
                match sign {
                    '+' => reduced((ad.checked_add(cb)?, b.checked_mul(d)?))?,
                    '-' => reduced((ad.checked_sub(cb)?, b.checked_mul(d)?))?,
                    '*' => reduced((a.checked_mul(c)?, b.checked_mul(d)?))?,
                    '/' if cb != 0 => reduced((ad, cb))?,
                    '%' if cb != 0 && b == 1 && d == 1 => (a % c, 1),
                    '^' if d == 1 && (0..=8).contains(&c) => {
                        let power = u32::try_from(c).ok()?;
                        (a.checked_pow(power)?, b.checked_pow(power)?)
                    }
                    _ => return None,
                }
            }
        })
    }

    /// Whether every value on the way is whole.
    fn is_whole_throughout(&self) -> bool {
        let here = self.exact().is_some_and(|(_, bottom)| bottom == 1);
        here && match self {
            Self::Whole(_) => true,
            Self::Negative(of) => of.is_whole_throughout(),
            Self::Two(_, left, right) => left.is_whole_throughout() && right.is_whole_throughout(),
        }
    }
}

fn divisor(a: i128, b: i128) -> i128 {
    match (a, b) {
        (0, 0) => 1,
        (a, 0) => a,
        (a, b) => divisor(b, a % b),
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = (0_i64..200).prop_map(Tree::Whole);
    leaf.prop_recursive(5, 40, 2, |inner| {
        let signs = prop::sample::select(vec!['+', '-', '*', '/', '%', '^']);
        prop_oneof![
            1 => inner.clone().prop_map(|of| Tree::Negative(Box::new(of))),
            6 => (signs, inner.clone(), inner).prop_map(|(sign, left, right)| {
                Tree::Two(sign, Box::new(left), Box::new(right))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_random_expression_has_the_value_of_its_tree(tree in tree()) {
        let text = tree.write(0);
        let got = parse::value(&text);
        if let Some((top, bottom)) = tree.exact() {
            if tree.is_whole_throughout() {
                prop_assert_eq!(got.as_ref(), Ok(&Number::Whole(top)), "{}", text);
            } else if let Ok(Number::Real(real)) = got {
                let expected = top as f64 / bottom as f64;
                // Fractions on the way are rounded, and a difference may leave nothing but that.
                let scale = expected.abs().max(1.0) * 1e-3;
                let is_stable = !text.contains('%') && !text.contains('^');
                prop_assert!(!is_stable || (real - expected).abs() <= scale, "{} = {} and not {}", text, real, expected);
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+*/%^(). 0-9a-zπ,]{0,40}|\\PC{0,20}") {
        let _ = value(&text);
    }
}
