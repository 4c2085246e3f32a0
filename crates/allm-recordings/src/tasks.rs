//! A few tasks that share a list.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does something with every item, a few at a time. The results come in the order of the items.
///
/// # Panics
///
/// When the work on an item does.
pub async fn each<T, R, F>(
    items: Vec<T>,
    work: impl Fn(Arc<T>) -> F + Send + Sync + 'static,
) -> Vec<R>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
    F: Future<Output = R> + Send,
{
    let items: Arc<Vec<Arc<T>>> = Arc::new(items.into_iter().map(Arc::new).collect());
    let work = Arc::new(work);
    let next = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let (items, work, next) = (Arc::clone(&items), Arc::clone(&work), Arc::clone(&next));
            tokio::spawn(async move {
                let mut done = Vec::new();
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, Arc::clone(item)))
                } {
                    done.push((at, work(item).await));
                }
                done
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.unwrap());
    }
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}
