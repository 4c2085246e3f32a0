//! The table that is printed.

use crate::counting::{Cost, counted};

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Everything, with repetitions.
    Full,
    /// Each piece of work once, on a small input.
    Smoke,
}

/// What was measured so far.
pub(crate) struct Table {
    size: Size,
    rows: Vec<Row>,
    ratios: Vec<String>,
}

struct Row {
    name: String,
    unit: &'static str,
    per_unit: PerUnit,
}

/// The cost of one unit of work.
#[derive(Clone, Copy)]
pub(crate) struct PerUnit {
    pub(crate) nanos: f64,
    pub(crate) allocations: f64,
    pub(crate) bytes: f64,
}

impl PerUnit {
    fn of(cost: Cost, units: usize) -> Self {
        let units = float(units);
        Self {
            nanos: cost.time.as_secs_f64() * 1e9 / units,
            allocations: float(cost.allocations) / units,
            bytes: float(cost.bytes) / units,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn float(count: usize) -> f64 {
    count as f64
}

impl Table {
    pub(crate) const fn new(size: Size) -> Self {
        Self {
            size,
            rows: Vec::new(),
            ratios: Vec::new(),
        }
    }

    /// `full` in a measurement, a hundredth of it in a smoke run.
    pub(crate) fn scaled(&self, full: usize) -> usize {
        match self.size {
            Size::Full => full,
            Size::Smoke => (full / 100).max(1),
        }
    }

    /// How often a piece of work is done.
    pub(crate) fn repetitions(&self, full: usize) -> usize {
        match self.size {
            Size::Full => full,
            Size::Smoke => 1,
        }
    }

    /// Does the work several times over and notes its cost.
    pub(crate) fn row<T>(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        units: usize,
        repetitions: usize,
        mut work: impl FnMut() -> T,
    ) -> PerUnit {
        let costs = (0..self.repetitions(repetitions)).map(|_| counted(&mut work).1);
        let costs = costs.collect();
        self.note(name, unit, units, costs)
    }

    /// Notes the cost of the same work done several times: the median time, the counts of the last one.
    pub(crate) fn note(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        units: usize,
        costs: Vec<Cost>,
    ) -> PerUnit {
        let mut times: Vec<_> = costs.iter().map(|cost| cost.time).collect();
        times.sort_unstable();
        let last = costs.last().copied().unwrap_or_default();
        let cost = Cost {
            time: times.get(times.len() / 2).copied().unwrap_or_default(),
            ..last
        };
        let per_unit = PerUnit::of(cost, units);
        self.rows.push(Row {
            name: name.into(),
            unit,
            per_unit,
        });
        per_unit
    }

    /// Notes how two costs compare.
    pub(crate) fn ratio(&mut self, name: &str, one: PerUnit, other: PerUnit) {
        let compare = |one: f64, other: f64| match other {
            0.0 => "-".to_owned(),
            _ if one == 0.0 => "0".to_owned(),
            _ if one < other / 100.0 => format!("1/{:.0}", other / one),
            _ => format!("{:.2}", one / other),
        };
        self.ratios.push(format!(
            "{name:<58} {:>12} {:>12} {:>12}",
            compare(one.nanos, other.nanos),
            compare(one.allocations, other.allocations),
            compare(one.bytes, other.bytes),
        ));
    }

    pub(crate) fn print(&self) {
        println!(
            "{:<48} {:<9} {:>12} {:>12} {:>12}",
            "work", "unit", "ns", "allocations", "bytes"
        );
        for row in &self.rows {
            let PerUnit {
                nanos,
                allocations,
                bytes,
            } = row.per_unit;
            println!(
                "{:<48} {:<9} {nanos:>12.1} {allocations:>12.4} {bytes:>12.1}",
                row.name, row.unit
            );
        }
        println!(
            "\n{:<58} {:>12} {:>12} {:>12}",
            "ratio", "time", "allocations", "bytes"
        );
        for ratio in &self.ratios {
            println!("{ratio}");
        }
    }
}
