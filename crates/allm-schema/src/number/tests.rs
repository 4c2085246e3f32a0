use std::cmp::Ordering;

use serde_json::{Value, json};

use super::Exact;

fn exact(value: Value) -> Exact {
    match value {
        Value::Number(number) => Exact::of(&number),
        other => panic!("{other} is no number"),
    }
}

fn compare(a: Value, b: Value) -> Ordering {
    let order = exact(a.clone()).compare(exact(b.clone()));
    assert_eq!(exact(b).compare(exact(a)), order.reverse());
    order
}

#[test]
fn numbers_are_compared_by_what_they_are_worth() {
    assert_eq!(compare(json!(1), json!(1.0)), Ordering::Equal);
    assert_eq!(compare(json!(0), json!(-0.0)), Ordering::Equal);
    assert_eq!(compare(json!(2), json!(1.5)), Ordering::Greater);
    assert_eq!(compare(json!(-2), json!(-1.5)), Ordering::Less);
    assert_eq!(compare(json!(-1), json!(-1.5)), Ordering::Greater);
    // As floats these would be the same.
    let float = 9_007_199_254_740_992.0;
    assert_eq!(
        compare(json!(9_007_199_254_740_993_u64), json!(float)),
        Ordering::Greater
    );
    assert_eq!(
        compare(json!(u64::MAX), json!(18_446_744_073_709_551_616.0)),
        Ordering::Less
    );
    assert_eq!(
        compare(json!(i64::MIN), json!(-9_223_372_036_854_775_808.0)),
        Ordering::Equal
    );
    assert_eq!(compare(json!(u64::MAX), json!(1e308)), Ordering::Less);
    assert_eq!(compare(json!(i64::MIN), json!(-1e308)), Ordering::Greater);
    assert_eq!(compare(json!(0), json!(5e-324)), Ordering::Less);
}

#[test]
fn multiples_are_those_of_decimals() {
    let is_multiple = |value, divisor| exact(value).is_multiple_of(exact(divisor));
    assert!(is_multiple(json!(0.3), json!(0.1)));
    assert!(is_multiple(json!(0.0075), json!(0.0001)));
    assert!(is_multiple(json!(19.99), json!(0.01)));
    assert!(is_multiple(json!(1e308), json!(0.5)));
    assert!(is_multiple(json!(5e-324), json!(5e-324)));
    assert!(is_multiple(json!(9_007_199_254_740_993_u64), json!(1.5)));
    assert!(is_multiple(json!(0), json!(0.7)));
    assert!(is_multiple(json!(-4.5), json!(1.5)));
    assert!(is_multiple(json!(1e22), json!(2)));
    assert!(!is_multiple(json!(0.35), json!(0.1)));
    assert!(!is_multiple(json!(0.00751), json!(0.0001)));
    assert!(!is_multiple(json!(1e308), json!(0.123_456_789)));
    assert!(!is_multiple(json!(1e-7), json!(1e300)));
    assert!(!is_multiple(json!(4.5), json!(2)));
}

#[test]
fn counts_are_integers_of_at_least_zero() {
    assert_eq!(exact(json!(3)).count(), Some(3));
    assert_eq!(exact(json!(3.0)).count(), Some(3));
    assert_eq!(exact(json!(1e30)).count(), Some(u64::MAX));
    assert_eq!(exact(json!(1e300)).count(), Some(u64::MAX));
    assert_eq!(exact(json!(-1)).count(), None);
    assert_eq!(exact(json!(1.5)).count(), None);
}
