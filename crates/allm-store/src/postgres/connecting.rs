//! Connecting on a thread that has other work.

use std::future::poll_fn;
use std::pin::pin;

/// How often work is continued that would have let others go first.
const STEPS: usize = 32;

/// Does some steps of this work for every turn that it gets.
///
/// sqlx proves that it knows a password in 819 steps and lets everybody else go first after each of them. On a thread that
/// has much to do, where a turn may take 40 milliseconds to come round, that is half a minute until there is a connection.
/// Some 30 turns do no harm: the steps of one take a millisecond or two.
pub(super) async fn in_few_turns<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| {
        for _ in 1..STEPS {
            let step = work.as_mut().poll(cx);
            if step.is_ready() {
                return step;
            }
        }
        work.as_mut().poll(cx)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    async fn proof(steps: usize) -> usize {
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
        steps
    }

    fn turns<T>(work: impl Future<Output = T>) -> (usize, T) {
        let mut work = pin!(work);
        let mut cx = Context::from_waker(Waker::noop());
        let mut turns = 1;
        loop {
            if let Poll::Ready(done) = work.as_mut().poll(&mut cx) {
                return (turns, done);
            }
            turns += 1;
        }
    }

    #[test]
    fn s210_a_proof_of_many_steps_takes_few_turns() {
        assert_eq!(turns(proof(819)), (820, 819));
        assert_eq!(turns(in_few_turns(proof(819))), (26, 819));
        assert_eq!(turns(in_few_turns(proof(0))), (1, 0));
    }
}
