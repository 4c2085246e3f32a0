//! Allocations for each delta, in the steady state: a stream and one three times as long, the difference divided.

use allm_costs::wire::Wire;
use allm_costs::work;

use crate::server;

/// How many deltas the shorter stream has.
const DELTAS: usize = 5_000;

/// What the connection may add for each delta. It allocates a buffer for what it reads from the network, whatever is in it:
/// something for each read, and how much a read brings is the kernel's business. The server packs 64 KiB to a write, so
/// that a read brings hundreds of deltas; the text that is put together grows by doubling, a few times in all.
const BUFFERS: f64 = 0.05;

#[derive(Clone, Copy, Debug)]
enum Work {
    Text,
    Arguments,
}

#[test]
fn a_text_delta_allocates_nothing() {
    at_most(Work::Text, 0.0);
}

#[test]
fn a_fragment_of_arguments_allocates_at_most_twice() {
    at_most(Work::Arguments, 2.0);
}

/// Tells of every wire that breaks it.
fn at_most(work: Work, limit: f64) {
    let url = server::start();
    let costs = Wire::ALL.map(|wire| (wire, each(work, wire, &url)));
    for (wire, cost) in costs {
        println!("{work:?} over {wire}: {cost:.4} allocations for each delta");
    }
    let broken: Vec<_> = costs
        .iter()
        .filter(|(_, cost)| *cost > limit + BUFFERS)
        .collect();
    assert!(broken.is_empty(), "more than {limit}: {broken:?}");
}

fn each(work: Work, wire: Wire, url: &str) -> f64 {
    let (few, many) = (DELTAS, 3 * DELTAS);
    let cost = |deltas| allocations(work, wire, url, deltas) as f64;
    (cost(many) - cost(few)) / (many - few) as f64
}

/// The allocations of this thread, in which the client runs, while one stream is read. The fewest of three: how the
/// network cuts what is sent can only add to them. The first stream of all makes what is made once.
fn allocations(work: Work, wire: Wire, url: &str, deltas: usize) -> u64 {
    let path = match work {
        Work::Text => "packed",
        Work::Arguments => "packed-arguments",
    };
    let engine = wire
        .engine(&format!("{url}/{path}-{deltas}"))
        .expect("an engine");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let one = || {
        let mut read = None;
        let info = allocation_counter::measure(|| {
            read = Some(runtime.block_on(async {
                match work {
                    Work::Text => work::text(&engine).await,
                    Work::Arguments => work::arguments(&engine).await,
                }
            }));
        });
        let read = read.expect("it was read").expect("the run ends well");
        match work {
            Work::Text => assert_eq!(read.deltas, deltas, "{wire}"),
            Work::Arguments => assert!(
                read.calls == 1 && read.fragments + 5 > deltas,
                "{wire}: {read:?}"
            ),
        }
        info.count_total
    };
    one();
    (0..3).map(|_| one()).min().expect("three")
}
