//! A recorded body, played: cut anew if wanted, at once or in its own time.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep, sleep_until};

use super::cassette::{Answered, Chunk, End};
use crate::wire::transport::BoxError;

/// How the body of a recorded answer is cut into the pieces that arrive.
///
/// A network cuts as it likes, in the middle of an event or of a character. Whatever the cuts, the events are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Chunking {
    /// As it came.
    #[default]
    AsRecorded,
    /// Byte by byte.
    OneByte,
    /// Into pieces of random length; the same seed gives the same pieces.
    Random(u64),
    /// In one piece.
    Whole,
}

/// When the pieces of a recorded answer arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pace {
    /// All at once: a test need not wait.
    #[default]
    AtOnce,
    /// When they came, counted from the request. The time is tokio's, so a test can pause it.
    AsRecorded,
}

/// The body of an answer that is played.
pub(super) struct Player {
    chunks: VecDeque<Chunk>,
    rest: Bytes,
    end: End,
    /// When the request was sent, if that counts.
    began: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// What is said to a reader who wants more than was recorded.
    past_the_end: Option<BoxError>,
}

impl Player {
    pub(super) fn new(
        answered: &Answered,
        end: End,
        chunking: Chunking,
        pace: Pace,
        past_the_end: BoxError,
    ) -> Self {
        Self {
            chunks: cut(answered, chunking).into(),
            rest: answered.body.clone(),
            end,
            began: match pace {
                Pace::AtOnce => None,
                Pace::AsRecorded => Some(Instant::now()),
            },
            timer: None,
            past_the_end: Some(past_the_end),
        }
    }

    /// Ready when the next piece is due.
    fn poll_due(&mut self, at: u64, cx: &mut Context<'_>) -> Poll<()> {
        let due = self
            .began
            .and_then(|began| began.checked_add(Duration::from_millis(at)));
        if let Some(due) = due.filter(|due| *due > Instant::now()) {
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
            ready!(timer.as_mut().poll(cx));
        }
        self.timer = None;
        Poll::Ready(())
    }
}

impl Body for Player {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Some(next) = this.chunks.front().copied() {
            ready!(this.poll_due(next.at, cx));
            this.chunks.pop_front();
            let piece = this.rest.split_to(next.length.min(this.rest.len()));
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        Poll::Ready(match this.end {
            End::Whole => None,
            End::Broken => Some(Err("the recorded connection broke here".into())),
            End::Left => this.past_the_end.take().map(Err),
        })
    }
}

/// The pieces of a body. A piece comes when its last byte came.
fn cut(answered: &Answered, chunking: Chunking) -> Vec<Chunk> {
    let length = answered.body.len();
    let recorded = &answered.chunks;
    let last = recorded.last().map_or(0, |chunk| chunk.at);
    match chunking {
        Chunking::AsRecorded if !recorded.is_empty() => recorded.clone(),
        Chunking::AsRecorded | Chunking::Whole => [Chunk { at: last, length }]
            .into_iter()
            .filter(|chunk| chunk.length > 0)
            .collect(),
        Chunking::OneByte => timed(recorded, length, || 1),
        Chunking::Random(seed) => {
            let mut random = Random(seed);
            timed(recorded, length, move || random.length())
        }
    }
}

fn timed(recorded: &[Chunk], length: usize, mut next: impl FnMut() -> usize) -> Vec<Chunk> {
    let mut ends = recorded.iter().scan(0, |end, chunk| {
        *end += chunk.length;
        Some((*end, chunk.at))
    });
    let mut current = ends.next();
    let mut chunks = Vec::new();
    let mut at_byte = 0;
    while at_byte < length {
        let piece = next().clamp(1, length - at_byte);
        at_byte += piece;
        while current.is_some_and(|(end, _)| end < at_byte) {
            current = ends.next();
        }
        chunks.push(Chunk {
            at: current.map_or(0, |(_, at)| at),
            length: piece,
        });
    }
    chunks
}

/// Lengths of pieces, the same for the same seed: mostly short, now and then long.
struct Random(u64);

impl Random {
    fn length(&mut self) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let longest = if mixed.is_multiple_of(8) { 400 } else { 24 };
        1 + usize::try_from((mixed >> 8) % longest).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(chunks: &[(u64, usize)]) -> Answered {
        Answered {
            status: 200,
            headers: Vec::new(),
            body: Bytes::from(vec![b'x'; chunks.iter().map(|(_, length)| length).sum()]),
            chunks: chunks
                .iter()
                .map(|(at, length)| Chunk {
                    at: *at,
                    length: *length,
                })
                .collect(),
        }
    }

    fn pairs(answered: &Answered, chunking: Chunking) -> Vec<(u64, usize)> {
        let chunks = cut(answered, chunking).into_iter();
        chunks.map(|chunk| (chunk.at, chunk.length)).collect()
    }

    /// C194: however it is cut, every byte comes once, and when it came at the latest.
    #[test]
    fn c194_every_byte_once() {
        let body = answered(&[(5, 2), (9, 1)]);
        assert_eq!(pairs(&body, Chunking::AsRecorded), [(5, 2), (9, 1)]);
        assert_eq!(pairs(&body, Chunking::OneByte), [(5, 1), (5, 1), (9, 1)]);
        assert_eq!(pairs(&body, Chunking::Whole), [(9, 3)]);
        let long = answered(&[(1, 700), (2, 1), (3, 2000)]);
        for seed in 0..50 {
            let pieces = pairs(&long, Chunking::Random(seed));
            assert_eq!(pieces, pairs(&long, Chunking::Random(seed)));
            assert_eq!(pieces.iter().map(|(_, length)| length).sum::<usize>(), 2701);
            assert!(pieces.is_sorted_by_key(|(at, _)| *at));
            assert!(pieces.iter().all(|(_, length)| *length > 0));
        }
        assert_ne!(
            pairs(&long, Chunking::Random(1)),
            pairs(&long, Chunking::Random(2))
        );
        for chunking in [Chunking::OneByte, Chunking::Random(1), Chunking::Whole] {
            assert_eq!(pairs(&answered(&[]), chunking), []);
        }
    }
}
