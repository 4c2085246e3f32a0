//! Which script answers which attempt.

use std::sync::Arc;

use allm_core::Request;

use super::fault::ScriptFault;
use super::script::Script;

pub(super) type Condition = Arc<dyn Fn(&Request) -> bool + Send + Sync>;

/// The scripts in the order in which they were given, and how far they are used up.
#[derive(Clone, Default)]
pub(super) struct Replies {
    queue: Vec<Arc<Script>>,
    taken: usize,
    conditional: Vec<Conditional>,
    always: Option<Arc<Script>>,
    repeats_last: bool,
    /// Whether one of the scripts cannot be played. Asked at every attempt, so it is not looked for each time.
    has_fault: bool,
}

#[derive(Clone)]
struct Conditional {
    condition: Condition,
    script: Arc<Script>,
    is_used: bool,
}

impl Replies {
    pub(super) fn push(&mut self, script: Script) {
        self.has_fault |= script.check().is_err();
        self.queue.push(Arc::new(script));
    }

    pub(super) fn push_when(&mut self, condition: Condition, script: Script) {
        self.has_fault |= script.check().is_err();
        self.conditional.push(Conditional {
            condition,
            script: Arc::new(script),
            is_used: false,
        });
    }

    pub(super) fn always(&mut self, script: Script) {
        self.has_fault |= script.check().is_err();
        self.always = Some(Arc::new(script));
    }

    pub(super) fn repeat_last(&mut self) {
        self.repeats_last = true;
    }

    /// The same scripts, none of them used.
    pub(super) fn unused(&self) -> Self {
        let mut replies = self.clone();
        replies.taken = 0;
        for conditional in &mut replies.conditional {
            conditional.is_used = false;
        }
        replies
    }

    /// The conditions that are still waiting, to be asked without holding a lock: they are the author's code.
    pub(super) fn conditions(&self) -> Vec<(usize, Condition)> {
        let waiting = self.conditional.iter().enumerate();
        waiting
            .filter(|(_, conditional)| !conditional.is_used)
            .map(|(place, conditional)| (place, Arc::clone(&conditional.condition)))
            .collect()
    }

    /// The reply of the next attempt, whose request meets the conditions at these places.
    pub(super) fn take(&mut self, met: &[usize]) -> Option<Arc<Script>> {
        for place in met {
            // Another attempt may have been quicker.
            let conditional = self.conditional.get_mut(*place);
            if let Some(conditional) = conditional.filter(|conditional| !conditional.is_used) {
                conditional.is_used = true;
                return Some(Arc::clone(&conditional.script));
            }
        }
        if let Some(script) = self.queue.get(self.taken) {
            self.taken += 1;
            return Some(Arc::clone(script));
        }
        let last = || self.queue.last().filter(|_| self.repeats_last);
        self.always.as_ref().or_else(last).cloned()
    }

    /// How many replies were given, those that never run out counted once.
    pub(super) fn scripted(&self) -> usize {
        self.queue.len() + self.conditional.len() + usize::from(self.always.is_some())
    }

    /// The first script that cannot be played, with the words for it.
    pub(super) fn fault(&self) -> Option<(String, ScriptFault)> {
        if !self.has_fault {
            return None;
        }
        self.named()
            .find_map(|(name, script, _)| Some((name, script.check().err()?)))
    }

    /// What has not been used, in words. `always` is never left.
    pub(super) fn left(&self) -> Vec<String> {
        self.named()
            .filter(|(_, _, is_left)| *is_left)
            .map(|(name, script, _)| {
                let steps: Vec<_> = script.steps().iter().map(super::step::Step::name).collect();
                format!("{name} ({})", steps.join(", "))
            })
            .collect()
    }

    /// Every script with its name and whether it still waits.
    fn named(&self) -> impl Iterator<Item = (String, &Script, bool)> {
        let queue = self.queue.iter().enumerate().map(|(place, script)| {
            let name = format!("reply {}", place + 1);
            (name, &**script, place >= self.taken)
        });
        let conditional = self
            .conditional
            .iter()
            .enumerate()
            .map(|(place, conditional)| {
                let name = format!("conditional reply {}", place + 1);
                (name, &*conditional.script, !conditional.is_used)
            });
        let always = self.always.iter();
        let always = always.map(|script| ("the reply of `always`".to_owned(), &**script, false));
        queue.chain(conditional).chain(always)
    }
}
