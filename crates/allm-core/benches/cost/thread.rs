//! Conversations that share their past, against a vector of messages.

use std::hint::black_box;

use allm_core::{Message, Thread};

use crate::script;
use crate::table::Table;

pub(crate) fn measure(table: &mut Table) {
    let length = table.scaled(1000).max(40);
    let thread = script::thread(length);
    let vector: Vec<Message> = thread
        .messages
        .iter()
        .map(|message| (**message).clone())
        .collect();

    let times = table.scaled(1000);
    let clone = table.row(
        "thread: clone of 1,000 messages",
        "clone",
        times,
        25,
        || {
            for _ in 0..times {
                drop(black_box(thread.clone()));
            }
        },
    );
    let peer = table.row("  Vec<Message>: the same", "clone", 1, 25, || {
        vector.clone()
    });
    table.ratio("thread: clone / Vec<Message>", clone, peer);

    let push = table.row("thread: clone and push", "push", times, 25, || {
        for _ in 0..times {
            let mut copy = thread.clone();
            copy.push(Message::user("next"));
            black_box(copy);
        }
    });
    let peer = table.row("  Vec<Message>: the same", "push", 1, 25, || {
        let mut copy = vector.clone();
        copy.push(Message::user("next"));
        copy
    });
    table.ratio("thread: clone and push / Vec<Message>", push, peer);

    table.row(
        "thread: 1,000 pushes, each shared",
        "push",
        times,
        25,
        || {
            let mut copies = Vec::with_capacity(times);
            let mut thread = Thread::new();
            for _ in 0..times {
                thread.push(Message::user("next"));
                copies.push(thread.clone());
            }
            copies
        },
    );
    table.row("thread: walk", "message", thread.len(), 25, || {
        thread
            .messages
            .iter()
            .map(|message| message.tool_calls.len())
            .sum::<usize>()
    });
}
