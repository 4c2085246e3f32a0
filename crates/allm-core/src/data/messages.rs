//! A list of messages that shares its past.

mod notes;

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::message::Message;
use notes::Notes;

/// How many entries a node holds.
const WIDTH: usize = 32;

/// A list of messages that is cheap to clone: clones share what they have in common.
///
/// A clone costs one reference count whatever the length; `push`, `pop` and `get` cost a logarithm of it (base 32).
/// In JSON it is a plain array.
///
/// ```
/// use allm_core::{Message, Messages};
///
/// let mut messages: Messages = [Message::user("hi")].into_iter().collect();
/// let before = messages.clone();
/// messages.push(Message::assistant("hello"));
/// assert_eq!((before.len(), messages.len()), (1, 2));
/// ```
#[derive(Default)]
pub struct Messages {
    tree: Tree,
    /// Made when it is needed or when there is a clone to share it with, so that a list of its own costs nothing more.
    notes: OnceLock<Arc<Notes>>,
}

/// The messages alone.
#[derive(Clone, Default)]
struct Tree {
    root: Option<Arc<Node>>,
    /// How many levels of branches stand above the leaves.
    height: u32,
    len: usize,
}

#[derive(Clone)]
enum Node {
    Branch(Vec<Arc<Node>>),
    Leaf(Vec<Arc<Message>>),
}

impl Node {
    /// A chain of branches of this height over one message.
    fn chain(height: u32, message: Arc<Message>) -> Arc<Self> {
        let leaf = Arc::new(Self::Leaf(vec![message]));
        (0..height).fold(leaf, |below, _| Arc::new(Self::Branch(vec![below])))
    }

    /// Adds a message at the end; gives it back when this subtree is full.
    fn push(&mut self, height: u32, message: Arc<Message>) -> Result<(), Arc<Message>> {
        match self {
            Self::Leaf(messages) if messages.len() < WIDTH => {
                messages.push(message);
                Ok(())
            }
            Self::Leaf(_) => Err(message),
            Self::Branch(children) => {
                let message = match children.last_mut() {
                    Some(last) => match Arc::make_mut(last).push(height - 1, message) {
                        Ok(()) => return Ok(()),
                        Err(message) => message,
                    },
                    None => message,
                };
                if children.len() == WIDTH {
                    return Err(message);
                }
                children.push(Self::chain(height - 1, message));
                Ok(())
            }
        }
    }

    fn pop(&mut self) -> Option<Arc<Message>> {
        match self {
            Self::Leaf(messages) => messages.pop(),
            Self::Branch(children) => {
                let last = Arc::make_mut(children.last_mut()?);
                let message = last.pop();
                if last.is_empty() {
                    children.pop();
                }
                message
            }
        }
    }

    /// Keeps the first `len` messages, at least one and no more than there are.
    fn truncate(&mut self, height: u32, len: usize) {
        match self {
            Self::Leaf(messages) => messages.truncate(len),
            Self::Branch(children) => {
                let span = WIDTH.saturating_pow(height);
                let (whole, rest) = (len / span, len % span);
                children.truncate(whole + usize::from(rest > 0));
                if let Some(last) = children.last_mut()
                    && rest > 0
                {
                    Arc::make_mut(last).truncate(height - 1, rest);
                }
            }
        }
    }

    /// Whether `self` is the beginning of `other`, a node of the same height that holds at least as much.
    fn is_prefix_of(own: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(own, other)
            || match (&**own, &**other) {
                (Self::Leaf(a), Self::Leaf(b)) => {
                    a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
                }
                (Self::Branch(a), Self::Branch(b)) => {
                    a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| Self::is_prefix_of(a, b))
                }
                _ => false,
            }
    }

    /// Gives back the memory that was kept for messages to come, at the end of this subtree.
    fn give_back_room(&mut self) {
        match self {
            Self::Leaf(messages) => messages.shrink_to_fit(),
            Self::Branch(children) => {
                children.shrink_to_fit();
                if let Some(last) = children.last_mut() {
                    Arc::make_mut(last).give_back_room();
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Leaf(messages) => messages.is_empty(),
            Self::Branch(children) => children.is_empty(),
        }
    }
}

impl Messages {
    /// No messages.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            tree: Tree {
                root: None,
                height: 0,
                len: 0,
            },
            notes: OnceLock::new(),
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.tree.len
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.tree.len == 0
    }

    /// The message at this place.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Arc<Message>> {
        if index >= self.tree.len {
            return None;
        }
        let mut node: &Node = self.tree.root.as_ref()?;
        let mut height = self.tree.height;
        loop {
            match node {
                Node::Leaf(messages) => return messages.get(index % WIDTH),
                Node::Branch(children) => {
                    let span = WIDTH.checked_pow(height)?;
                    node = children.get(index / span % WIDTH)?;
                    height -= 1;
                }
            }
        }
    }

    /// The first message.
    #[must_use]
    pub fn first(&self) -> Option<&Arc<Message>> {
        self.get(0)
    }

    /// The last message.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.get(self.tree.len.checked_sub(1)?)
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        let message = message.into();
        self.tree.len += 1;
        let Some(root) = &mut self.tree.root else {
            self.tree.root = Some(Node::chain(0, message));
            self.tree.height = 0;
            return;
        };
        if let Err(message) = Arc::make_mut(root).push(self.tree.height, message) {
            let sibling = Node::chain(self.tree.height, message);
            let first = Arc::clone(root);
            *root = Arc::new(Node::Branch(vec![first, sibling]));
            self.tree.height += 1;
        }
    }

    /// Takes the last message away.
    pub fn pop(&mut self) -> Option<Arc<Message>> {
        let root = self.tree.root.as_mut()?;
        let message = Arc::make_mut(root).pop();
        if message.is_some() {
            self.tree.len -= 1;
        }
        self.lower();
        message
    }

    /// Keeps the first `len` messages. Costs a logarithm of the length, as `pop` does.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.tree.len {
            return;
        }
        self.tree.len = len;
        if let Some(root) = &mut self.tree.root
            && len > 0
        {
            Arc::make_mut(root).truncate(self.tree.height, len);
        }
        self.lower();
    }

    /// Makes the tree as low as it can be, so that lists of one length have one shape.
    fn lower(&mut self) {
        if self.tree.len == 0 {
            self.tree = Tree::default();
        }
        while let Some(Node::Branch(children)) = self.tree.root.as_deref()
            && let [only] = children.as_slice()
        {
            self.tree.root = Some(Arc::clone(only));
            self.tree.height -= 1;
        }
    }

    /// Puts a message at this place and moves the later ones on. Costs as much as there are later ones.
    pub fn insert(&mut self, index: usize, message: impl Into<Arc<Message>>) {
        let mut later = Vec::new();
        while self.tree.len > index {
            later.extend(self.pop());
        }
        self.push(message);
        for message in later.into_iter().rev() {
            self.push(message);
        }
    }

    /// The messages in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        self.iter_from(0)
    }

    /// The messages from this place on, in order.
    #[must_use]
    pub fn iter_from(&self, index: usize) -> Iter<'_> {
        Iter {
            messages: self,
            leaf: [].iter(),
            next: index.min(self.tree.len),
            end: self.tree.len,
        }
    }

    /// The leaf that holds this place, from that place on.
    fn leaf_from(&self, index: usize) -> std::slice::Iter<'_, Arc<Message>> {
        let mut node = self.tree.root.as_deref();
        let mut height = self.tree.height;
        while let Some(Node::Branch(children)) = node {
            let span = WIDTH.saturating_pow(height);
            node = children.get(index / span % WIDTH).map(|child| &**child);
            height = height.saturating_sub(1);
        }
        match node {
            Some(Node::Leaf(messages)) => messages.get(index % WIDTH..).unwrap_or_default().iter(),
            _ => [].iter(),
        }
    }

    /// Whether `self` is the beginning of `other`. Costs next to nothing where the two share their past.
    #[must_use]
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        if self.tree.len > other.tree.len {
            return false;
        }
        let (Some(own), Some(mut theirs)) = (&self.tree.root, other.tree.root.as_ref()) else {
            return self.is_empty();
        };
        for _ in self.tree.height..other.tree.height {
            match &**theirs {
                Node::Branch(children) => match children.first() {
                    Some(first) => theirs = first,
                    None => return false,
                },
                Node::Leaf(_) => return false,
            }
        }
        Node::is_prefix_of(own, theirs)
    }
}

/// The messages of a [`Messages`], in order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    messages: &'a Messages,
    leaf: std::slice::Iter<'a, Arc<Message>>,
    next: usize,
    end: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Arc<Message>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let message = match self.leaf.next() {
            Some(message) => Some(message),
            None => {
                self.leaf = self.messages.leaf_from(self.next);
                self.leaf.next()
            }
        };
        self.next += 1;
        message
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        self.end -= 1;
        self.messages.get(self.end)
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Arc<Message>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl<M: Into<Arc<Message>>> FromIterator<M> for Messages {
    fn from_iter<I: IntoIterator<Item = M>>(messages: I) -> Self {
        let mut list = Self::new();
        list.extend(messages);
        list
    }
}

impl<M: Into<Arc<Message>>> Extend<M> for Messages {
    fn extend<I: IntoIterator<Item = M>>(&mut self, messages: I) {
        for message in messages {
            self.push(message);
        }
    }
}

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Self {
        messages.into_iter().collect()
    }
}

impl Clone for Messages {
    fn clone(&self) -> Self {
        let notes = OnceLock::new();
        if !self.is_empty() {
            // What one of the two works out, the other need not.
            let _ = notes.set(Arc::clone(self.notes()));
        }
        Self {
            tree: self.tree.clone(),
            notes,
        }
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        self.tree.len == other.tree.len && self.is_prefix_of(other)
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|message| &**message))
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Messages;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Messages, A::Error> {
                let mut messages = Messages::new();
                while let Some(message) = seq.next_element::<Message>()? {
                    messages.push(message);
                }
                // A session that is read may sleep for long.
                if let Some(root) = &mut messages.tree.root {
                    Arc::make_mut(root).give_back_room();
                }
                Ok(messages)
            }
        }

        deserializer.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests;
