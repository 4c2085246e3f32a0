//! The same work many times.

use std::future::Future;

use crate::Checked;

/// One after the other.
///
/// # Errors
///
/// When one of them fails.
pub async fn in_turn<F>(count: usize, mut one: impl FnMut() -> F) -> anyhow::Result<Checked>
where
    F: Future<Output = anyhow::Result<Checked>>,
{
    let mut sum = Checked::default();
    for _ in 0..count {
        sum = sum.and(one().await?);
    }
    Ok(sum)
}

/// All at once, each in a task of its own.
///
/// # Errors
///
/// When one of them fails.
pub async fn at_once<F>(count: usize, one: impl FnMut() -> F) -> anyhow::Result<Checked>
where
    F: Future<Output = anyhow::Result<Checked>> + Send + 'static,
{
    let mut tasks: tokio::task::JoinSet<_> = std::iter::repeat_with(one).take(count).collect();
    let mut sum = Checked::default();
    while let Some(done) = tasks.join_next().await {
        sum = sum.and(done??);
    }
    Ok(sum)
}
