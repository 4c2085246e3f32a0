//! Usage and cost (core.md, C60 to C64, C67 to C69).

use allm_core::{Cost, ModelRef, Price, PriceList, Usage};
use serde_json::json;

fn model() -> ModelRef {
    ModelRef::new("anthropic", "claude")
}

fn price() -> Price {
    Price::new(4.0, 16.0)
        .cached_input(0.5)
        .cache_write_input(8.0)
}

fn list() -> PriceList {
    PriceList::new().with(model(), price())
}

fn usage() -> Usage {
    Usage {
        cached_input_tokens: Some(2_000_000),
        cache_write_input_tokens: Some(1_000_000),
        ..Usage::io(6_000_000, 500_000)
    }
}

#[test]
fn c60_the_hit_ratio_is_of_the_whole_input() {
    let usage = Usage {
        cached_input_tokens: Some(7_308),
        cache_write_input_tokens: Some(0),
        ..Usage::io(3 + 7_308, 10)
    };
    assert_eq!(usage.input_tokens, Some(7_311));
    assert_eq!(usage.cache_hit_ratio(), Some(7_308.0 / 7_311.0));
}

#[test]
fn c60_no_ratio_without_input() {
    let cached = Usage {
        cached_input_tokens: Some(1),
        ..Usage::default()
    };
    assert_eq!(cached.cache_hit_ratio(), None);
    assert_eq!(
        Usage {
            input_tokens: Some(0),
            ..cached
        }
        .cache_hit_ratio(),
        None
    );
    assert_eq!(Usage::io(5, 5).cache_hit_ratio(), None);
}

#[test]
fn c61_reasoning_is_part_of_the_output() {
    let usage = Usage {
        reasoning_tokens: Some(13),
        ..Usage::io(1, 13)
    };
    assert_eq!(
        (usage.output_tokens, usage.reasoning_tokens, usage.total()),
        (Some(13), Some(13), Some(14))
    );
}

#[test]
fn c62_what_is_unknown_is_none_and_not_zero() {
    let usage = Usage::io(3, 4);
    assert_eq!(usage.cached_input_tokens, None);
    let text = allm_core::json::to_string(&usage).unwrap();
    assert_eq!(
        text,
        r#"{"v":1,"type":"usage","data":{"input_tokens":3,"output_tokens":4}}"#
    );
}

#[test]
fn c63_total_is_the_field_else_the_sum_else_none() {
    assert_eq!(
        Usage {
            total_tokens: Some(9),
            ..Usage::io(3, 4)
        }
        .total(),
        Some(9)
    );
    assert_eq!(Usage::io(3, 4).total(), Some(7));
    assert_eq!(Usage::io(u64::MAX, 4).total(), Some(u64::MAX));
    assert_eq!(
        Usage {
            input_tokens: Some(3),
            ..Usage::default()
        }
        .total(),
        None
    );
    assert_eq!(Usage::default().total(), None);
}

#[test]
fn c64_adding_treats_none_as_unknown() {
    let cost = |total| {
        Some(Cost {
            input: Some(total),
            output: None,
            total,
        })
    };
    let extra = |key: &str| [(key.to_owned(), json!(1))].into_iter().collect();
    let one = Usage {
        reasoning_tokens: Some(1),
        cost: cost(0.5),
        extra: extra("a"),
        ..Usage::io(10, 1)
    };
    let two = Usage {
        cached_input_tokens: Some(5),
        cost: cost(0.25),
        extra: extra("b"),
        ..Usage::io(20, 2)
    };
    let three = Usage {
        input_tokens: Some(30),
        cost: cost(0.25),
        ..Usage::default()
    };
    let sum = one + two + three;
    let expected = Usage {
        cached_input_tokens: Some(5),
        reasoning_tokens: Some(1),
        cost: cost(1.0),
        extra: extra("a"),
        ..Usage::io(60, 3)
    };
    assert_eq!(sum, expected);
    assert_eq!(Usage::default() + Usage::default(), Usage::default());
}

#[test]
fn c64_a_cost_is_known_only_when_both_are() {
    let known = Usage {
        cost: Some(Cost {
            input: None,
            output: None,
            total: 1.0,
        }),
        ..Usage::default()
    };
    assert_eq!((known.clone() + Usage::default()).cost, None);
    assert_eq!((Usage::default() + known).cost, None);
}

#[test]
fn c64_adding_does_not_overflow() {
    assert_eq!(
        (Usage::io(u64::MAX, 1) + Usage::io(1, 1)).input_tokens,
        Some(u64::MAX)
    );
}

#[test]
fn c67_a_stated_cost_wins() {
    let stated = Cost {
        input: None,
        output: None,
        total: 42.0,
    };
    let usage = Usage {
        cost: Some(stated),
        ..usage()
    };
    assert_eq!(list().cost(&model(), &usage), Some(stated));
    assert_eq!(PriceList::new().cost(&model(), &usage), Some(stated));
}

#[test]
fn c68_each_kind_of_input_has_its_rate() {
    let cost = Cost {
        input: Some(3.0 * 4.0 + 2.0 * 0.5 + 8.0),
        output: Some(0.5 * 16.0),
        total: 12.0 + 1.0 + 8.0 + 8.0,
    };
    assert_eq!(list().cost(&model(), &usage()), Some(cost));
}

#[test]
fn c68_a_missing_rate_is_the_input_rate() {
    let plain = Price::new(4.0, 16.0);
    let list: PriceList = [(model(), plain)].into_iter().collect();
    let cost = Cost {
        input: Some(24.0),
        output: Some(8.0),
        total: 32.0,
    };
    assert_eq!(list.cost(&model(), &usage()), Some(cost));
    assert_eq!(
        list.cost(&model(), &Usage::io(6_000_000, 500_000)),
        Some(cost)
    );
}

#[test]
fn c69_no_price_no_cost() {
    let other: ModelRef = "anthropic:claude-2".parse().unwrap();
    assert_eq!(list().cost(&other, &usage()), None);
}

#[test]
fn c69_an_unknown_counter_gives_no_cost() {
    let without = [
        Usage {
            input_tokens: None,
            ..usage()
        },
        Usage {
            output_tokens: None,
            ..usage()
        },
        Usage {
            cached_input_tokens: None,
            ..usage()
        },
        Usage {
            cache_write_input_tokens: None,
            ..usage()
        },
    ];
    for usage in without {
        assert_eq!(list().cost(&model(), &usage), None, "{usage:?}");
    }
}

#[test]
fn c69_counters_that_contradict_each_other_give_no_cost() {
    let usage = Usage {
        cached_input_tokens: Some(u64::MAX),
        ..usage()
    };
    assert_eq!(list().cost(&model(), &usage), None);
}
