//! What others have worked out about a conversation, kept beside it so that it is worked out once.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Messages, Node, Tree, WIDTH};

/// What was noted, at most one thing of each kind. A list and its clones have the same notes: the list that asks next
/// for what was noted is as a rule a clone to which something was added.
#[derive(Default)]
pub(super) struct Notes(Mutex<Vec<Note>>);

struct Note {
    kind: TypeId,
    /// What it was noted about. It has no notes itself, which would keep each other alive.
    about: Tree,
    what: Arc<dyn Any + Send + Sync>,
}

impl Notes {
    /// Notes are whole at any instant, so a panic elsewhere while they were locked does not matter.
    fn list(&self) -> MutexGuard<'_, Vec<Note>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Messages {
    /// Keeps something that was worked out about these messages, in the place of what was kept of its kind before. Clones
    /// of this list find it, too, for as long as one of them lives.
    ///
    /// Notes are no part of the value: not of equality, not of the JSON, not of `Debug`.
    ///
    /// ```
    /// use allm_core::{Message, Messages};
    ///
    /// struct Words(usize);
    ///
    /// let mut messages: Messages = [Message::user("two words")].into_iter().collect();
    /// messages.note(Words(2));
    /// messages.push(Message::user("and more"));
    /// let (words, first) = messages.noted::<Words>().expect("a note");
    /// assert_eq!((words.0, first), (2, 1));
    /// ```
    pub fn note<T: Any + Send + Sync>(&self, what: T) {
        let note = Note {
            kind: TypeId::of::<T>(),
            about: self.tree.clone(),
            what: Arc::new(what),
        };
        let mut list = self.notes().list();
        let old = match list.iter_mut().find(|known| known.kind == note.kind) {
            Some(known) => Some(std::mem::replace(known, note)),
            None => {
                // There are two kinds at most, as a rule.
                list.reserve_exact(1);
                list.push(note);
                None
            }
        };
        drop(list);
        // Whatever it takes to drop it, nobody waits for it.
        drop(old);
    }

    /// What was noted last of this kind, and how many messages, from the first one on, are the same ones as in the list
    /// that it was noted about. Finding this out costs next to nothing, however long the lists are.
    #[must_use]
    pub fn noted<T: Any + Send + Sync>(&self) -> Option<(Arc<T>, usize)> {
        let notes = self.notes.get()?;
        let list = notes.list();
        let note = list.iter().find(|note| note.kind == TypeId::of::<T>())?;
        let common = self.tree.common(&note.about);
        let what = Arc::clone(&note.what);
        drop(list);
        Some((what.downcast().ok()?, common))
    }

    pub(super) fn notes(&self) -> &Arc<Notes> {
        self.notes.get_or_init(Arc::default)
    }
}

impl Tree {
    /// How many messages, from the first one on, are the same ones and not only equal.
    fn common(&self, other: &Self) -> usize {
        let (Some(mut own), Some(mut theirs)) = (self.root.as_ref(), other.root.as_ref()) else {
            return 0;
        };
        let height = self.height.min(other.height);
        for (node, above) in [(&mut own, self.height), (&mut theirs, other.height)] {
            for _ in height..above {
                match &***node {
                    Node::Branch(children) => match children.first() {
                        Some(first) => *node = first,
                        None => return 0,
                    },
                    Node::Leaf(_) => return 0,
                }
            }
        }
        Node::common(own, theirs, height)
    }
}

impl Node {
    fn common(own: &Arc<Self>, other: &Arc<Self>, height: u32) -> usize {
        match (&**own, &**other) {
            (Self::Leaf(a), Self::Leaf(b)) => {
                let same = a.iter().zip(b).take_while(|(a, b)| Arc::ptr_eq(a, b));
                same.count()
            }
            (Self::Branch(a), Self::Branch(b)) => {
                let last = a.len().min(b.len()).saturating_sub(1);
                let pairs = a.iter().zip(b).take(last);
                let same = pairs.take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
                // Every child but the last of a list is full.
                let full = same * WIDTH.saturating_pow(height);
                match (a.get(same), b.get(same)) {
                    (Some(a), Some(b)) => full + Self::common(a, b, height - 1),
                    _ => full,
                }
            }
            _ => 0,
        }
    }
}
