//! How what is written so far can be brought to an end: a short way there, in bytes.

use llguidance::Matcher;

use super::place::Place;

/// Follows an answer byte by byte, and finds ways to its end.
pub(super) struct Ending {
    /// Over single bytes: with so few tokens a step costs little.
    matcher: Matcher,
    place: Place,
    is_lost: bool,
}

/// The longest way that is looked for, in bytes.
const LONGEST: usize = 2048;
/// Where a text may go on with more letters than this, it matters little with which.
const FEW: usize = 64;

impl Ending {
    pub(super) fn new(matcher: Matcher) -> Self {
        Self {
            matcher,
            place: Place::default(),
            is_lost: false,
        }
    }

    /// Where in the answer one is.
    pub(super) const fn place(&self) -> Place {
        self.place
    }

    /// These bytes were written.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.is_lost |= !self.step(bytes);
        self.place = self.place.after(bytes);
    }

    /// Whether it can say nothing any more.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost || self.matcher.is_error()
    }

    /// A way to the end, if these bytes were written and one that fits is found. What was known as one is taken again
    /// where that is possible.
    pub(super) fn way_after(
        &mut self,
        bytes: &[u8],
        known: Option<&[u8]>,
        most: usize,
        fits: &dyn Fn(&[u8]) -> bool,
    ) -> Option<Vec<u8>> {
        if !self.step(bytes) {
            return None;
        }
        let followed = known.and_then(|known| known.strip_prefix(bytes));
        let mut known = followed.into_iter().chain(known);
        let way = match known.find(|way| fits(way) && self.leads_on(way)) {
            Some(way) => Some(way.to_vec()),
            None => self
                .way(self.place.after(bytes), most)
                .filter(|way| fits(way)),
        };
        self.back(bytes.len());
        way
    }

    /// Whether these bytes are a way to the end.
    fn leads_on(&mut self, bytes: &[u8]) -> bool {
        if !self.step(bytes) {
            return false;
        }
        let is_end = self.is_end();
        self.back(bytes.len());
        is_end
    }

    /// A way to the end. It is looked for among the short ones first, and those that open little, so that it is not much
    /// longer than it must be.
    fn way(&mut self, place: Place, most: usize) -> Option<Vec<u8>> {
        let most = most.min(LONGEST);
        let mut limit = most.min(2);
        loop {
            for openings in OPENINGS {
                let mut search = Search {
                    limit,
                    steps: 64 + 8 * limit,
                    wants_openings: false,
                };
                let way = search.run(self, place, openings);
                if way.is_some() || self.matcher.is_error() {
                    return way;
                }
                if !search.wants_openings {
                    break;
                }
            }
            if limit >= most {
                return None;
            }
            limit = most.min(if limit < 16 { limit * 2 } else { limit * 4 });
        }
    }

    fn is_end(&mut self) -> bool {
        self.matcher.is_accepting().unwrap_or(false)
    }

    /// Writes all of these bytes, or none.
    fn step(&mut self, bytes: &[u8]) -> bool {
        let tokens: Vec<u32> = bytes.iter().map(|byte| u32::from(*byte)).collect();
        match self.matcher.try_consume_tokens(&tokens) {
            Ok(count) if count == tokens.len() => true,
            Ok(count) => {
                self.back(count);
                false
            }
            Err(_) => false,
        }
    }

    fn back(&mut self, count: usize) {
        // A failure stays in the matcher: it then accepts nothing.
        let _ = self.matcher.rollback(count);
    }

    /// What may come next, the most promising first. Where something may end it ends: what goes on there leads nowhere
    /// else, only later.
    fn choices(&mut self, place: Place) -> Vec<Vec<u8>> {
        let forced = self.matcher.compute_ff_bytes();
        if !forced.is_empty() {
            return vec![forced];
        }
        let Ok(mask) = self.matcher.compute_mask() else {
            return Vec::new();
        };
        let bytes = mask.iter().filter_map(|byte| u8::try_from(byte).ok());
        let mut bytes: Vec<u8> = bytes.collect();
        bytes.sort_by_key(|byte| rank(place, *byte));
        let is_first_enough = match bytes.first() {
            Some(first) => ends(place).contains(first) || (place.in_text() && bytes.len() > FEW),
            None => true,
        };
        if is_first_enough {
            bytes.truncate(1);
        } else {
            // A letter after which a text may end, and a digit after which a number may, are as good as any other.
            let is_like = |byte: &u8| place.in_text() || byte.is_ascii_digit();
            let likes: Vec<u8> = bytes.iter().copied().filter(is_like).collect();
            if let Some(last) = likes
                .into_iter()
                .find(|byte| self.may_end_after(place, *byte))
            {
                bytes.retain(|byte| *byte == last || !is_like(byte));
            }
        }
        bytes.into_iter().map(|byte| vec![byte]).collect()
    }

    fn may_end_after(&mut self, place: Place, byte: u8) -> bool {
        if !self.step(&[byte]) {
            return false;
        }
        let is_end = self.is_end();
        let mask = self.matcher.compute_mask();
        self.back(1);
        let mut ends = ends(place.after(&[byte])).iter();
        is_end || mask.is_ok_and(|mask| ends.any(|end| mask.is_allowed(u32::from(*end))))
    }
}

/// What ends that in which one is.
fn ends(place: Place) -> &'static [u8] {
    match (place.in_text(), place.in_number()) {
        (true, _) => b"\"",
        (false, true) => b"}],",
        (false, false) => b"}]",
    }
}

/// What ends something comes first, and what begins something last.
fn rank(place: Place, byte: u8) -> (usize, u8) {
    let order: &[u8] = match (place.in_text(), place.in_number()) {
        (true, _) => b"\"",
        (false, true) => b"}],0123456789",
        (false, false) => b"}]0123456789\"ntf-[{, ",
    };
    let found = order.iter().position(|known| *known == byte);
    // An escape has more to come, and so has a character of several bytes.
    let last = usize::from(byte == b'\\' || !byte.is_ascii());
    (found.unwrap_or(order.len() + last), byte)
}

/// How many lists and objects are opened, at most, where none needs to be: first none, then more.
const OPENINGS: [usize; 5] = [0, 1, 2, 4, 16];

/// A search for a way to the end.
struct Search {
    /// The most bytes that it may have.
    limit: usize,
    /// How many steps may still be taken.
    steps: usize,
    /// Whether more could be found with more openings.
    wants_openings: bool,
}

/// A point at which there were several ways to go on.
struct Turn {
    place: Place,
    openings: usize,
    choices: std::vec::IntoIter<Vec<u8>>,
    /// How many bytes were taken from here.
    taken: usize,
}

impl Search {
    /// Looks for a way. Afterwards all is as it was.
    fn run(&mut self, ending: &mut Ending, place: Place, openings: usize) -> Option<Vec<u8>> {
        let (mut way, mut at) = (Vec::new(), (place, openings));
        // A stack of its own: a way may be longer than that of a thread bears.
        let mut turns: Vec<Turn> = Vec::new();
        let mut is_found = ending.is_end();
        while !is_found {
            let choices = match way.len() < self.limit {
                true => ending.choices(at.0),
                false => Vec::new(),
            };
            turns.push(Turn {
                place: at.0,
                openings: at.1,
                choices: choices.into_iter(),
                taken: 0,
            });
            match self.turn(ending, &mut turns, &mut way) {
                Some(next) => at = next,
                None => break,
            }
            is_found = ending.is_end();
        }
        ending.back(way.len());
        is_found.then_some(way)
    }

    /// Takes the next choice of the last turn that has one; gives where it leads.
    fn turn(
        &mut self,
        ending: &mut Ending,
        turns: &mut Vec<Turn>,
        way: &mut Vec<u8>,
    ) -> Option<(Place, usize)> {
        loop {
            let turn = turns.last_mut()?;
            if turn.taken > 0 {
                ending.back(turn.taken);
                way.truncate(way.len() - turn.taken);
                turn.taken = 0;
            }
            let Some(bytes) = turn.choices.next() else {
                turns.pop();
                continue;
            };
            let is_opening = !turn.place.in_text() && matches!(*bytes, [b'[' | b'{']);
            let Some(openings) = turn.openings.checked_sub(usize::from(is_opening)) else {
                self.wants_openings = true;
                continue;
            };
            let fits = self.steps > 0 && way.len() + bytes.len() <= self.limit;
            if fits && ending.step(&bytes) {
                self.steps -= 1;
                turn.taken = bytes.len();
                let place = turn.place.after(&bytes);
                way.extend(bytes);
                return Some((place, openings));
            }
        }
    }
}
