//! Which of two things a model writes: a call, or what is no call.

use std::sync::Arc;

use llguidance::toktrie::SimpleVob;

use super::{Callable, Calls, Grammars, Held, Saying};
use crate::prompt::CallStyle;
use crate::tokenizer::Tokenizer;

/// What an answer has turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// It may still be both.
    Open,
    Call,
    Text,
}

/// Follows an answer as it is written, and says what may come next.
pub(crate) struct Choice {
    grammars: Arc<Grammars>,
    tokenizer: Arc<Tokenizer>,
    call: Option<Box<Held>>,
    text: Text,
    /// The first byte of every call.
    call_begins: u8,
    is_begun: bool,
    /// How the answer can be brought to an end in time.
    way: Way,
}

enum Text {
    Free,
    Json(Box<Held>),
    Ruled,
}

/// How an answer can be brought to an end in time.
enum Way {
    /// There is room for these bytes, and then it fits.
    Known(Vec<u8>),
    /// It was not looked for yet: what begins may be no call.
    Unsought,
    /// There is none, or none is needed: the limit cuts the answer where it is.
    None,
}

/// How many bytes a token may stand for, where they are what ends an answer.
const BYTES_OF_TOKEN: usize = 8;

impl Choice {
    pub(crate) fn new(
        grammars: &Arc<Grammars>,
        tokenizer: &Arc<Tokenizer>,
        tools: &[Callable],
        calls: Calls,
        saying: &Saying,
        style: CallStyle,
        first: Option<usize>,
    ) -> Result<Self, String> {
        let call = match tools {
            [] => None,
            tools => Some(Box::new(grammars.calls(tools, calls, style, first)?)),
        };
        let text = match saying {
            Saying::Anything => Text::Free,
            Saying::Json(schema) => Text::Json(Box::new(grammars.json(schema.as_ref())?)),
            Saying::Nothing => Text::Ruled,
        };
        Ok(Self {
            grammars: Arc::clone(grammars),
            tokenizer: Arc::clone(tokenizer),
            call,
            text,
            call_begins: style.first_byte(),
            is_begun: false,
            way: Way::Unsought,
        })
    }

    /// What the answer has turned out to be.
    pub(crate) fn side(&self) -> Side {
        match (&self.call, &self.text) {
            (Some(_), Text::Ruled) => Side::Call,
            (None, _) => Side::Text,
            (Some(_), Text::Free | Text::Json(_)) => Side::Open,
        }
    }

    /// Takes what may not come next out of the scores.
    pub(crate) fn restrict(&mut self, scores: &mut [f32]) -> Result<(), String> {
        let count = scores.len();
        let mut allowed = SimpleVob::alloc(count);
        if let Some(call) = &mut self.call {
            allowed.or(&mask(call, &self.tokenizer)?);
        }
        match &mut self.text {
            Text::Ruled => {}
            Text::Json(held) => allowed.or(&mask(held, &self.tokenizer)?),
            Text::Free if self.is_begun || self.call.is_none() => return Ok(()),
            Text::Free => self.allow_beginnings(&mut allowed, count),
        }
        // Whichever end the model likes best.
        let ends = self.tokenizer.ends();
        if ends.iter().any(|end| allowed.is_allowed(*end)) {
            ends.iter().for_each(|end| allowed.allow_token(*end));
        }
        for (token, score) in (0..).zip(scores) {
            if !allowed.is_allowed(token) {
                *score = f32::NEG_INFINITY;
            }
        }
        Ok(())
    }

    /// A text does not begin like a call, nor with white space behind which one could hide.
    fn allow_beginnings(&self, allowed: &mut SimpleVob, count: usize) {
        for token in (0..).take(count) {
            let is_end = self.tokenizer.ends().contains(&token);
            let piece = self.tokenizer.piece(token);
            // The space that nobody means says nothing of what it is.
            let meant = match self.tokenizer.adds_space() {
                true => piece.strip_prefix(b" ").unwrap_or(piece),
                false => piece,
            };
            let begins_text = match meant.first() {
                Some(first) => *first != self.call_begins && !first.is_ascii_whitespace(),
                None => false,
            };
            if is_end || (begins_text && !self.tokenizer.is_mark(token)) {
                allowed.allow_token(token);
            }
        }
    }

    /// Tokens that must come next, if there is no choice.
    pub(crate) fn forced(&mut self) -> Vec<u32> {
        match (&mut self.call, &mut self.text) {
            (Some(held), Text::Ruled) => held.tokens.compute_ff_tokens(),
            (None, Text::Json(held)) => held.tokens.compute_ff_tokens(),
            _ => Vec::new(),
        }
    }

    /// Whether these tokens may be written so that the answer can still be brought to an end with so many tokens after
    /// them. Where that never was so, or an answer may end anywhere, they may.
    pub(crate) fn leave_room(&mut self, tokens: &[u32], room: usize) -> bool {
        let is_free = matches!(self.text, Text::Free);
        let known = match &self.way {
            Way::None => return true,
            _ if is_free && (self.call.is_none() || !self.is_begun) => return true,
            Way::Unsought => None,
            Way::Known(way) => Some(way.clone()),
        };
        if known.is_none() {
            // From where the answer is now.
            match self.way_after(&[], None, room + tokens.len()) {
                Some(way) => self.way = Way::Known(way),
                None => {
                    self.way = Way::None;
                    return true;
                }
            }
        }
        let bytes = self.bytes_of(tokens);
        match self.way_after(&bytes, known.as_deref(), room) {
            Some(way) => {
                self.way = Way::Known(way);
                true
            }
            // What follows the bytes is broken: that must not end the answer before its time.
            None if self.is_lost() => {
                self.way = Way::None;
                true
            }
            None => false,
        }
    }

    fn is_lost(&self) -> bool {
        let json = match &self.text {
            Text::Json(held) => Some(held),
            Text::Free | Text::Ruled => None,
        };
        let mut held = self.call.iter().chain(json);
        held.all(|held| held.ending.is_lost())
    }

    /// The tokens that bring the answer to an end, if it can be.
    pub(crate) fn last_tokens(&self) -> Option<Vec<u32>> {
        match &self.way {
            Way::Known(way) => Some(self.grammars.tokens(way)),
            Way::Unsought | Way::None => None,
        }
    }

    fn way_after(&mut self, bytes: &[u8], known: Option<&[u8]>, room: usize) -> Option<Vec<u8>> {
        let (grammars, tokenizer) = (&self.grammars, &self.tokenizer);
        let fits = |way: &[u8]| {
            let tokens = grammars.tokens(way);
            let pieces = tokens.iter().flat_map(|token| tokenizer.piece(*token));
            tokens.len() <= room && pieces.eq(way)
        };
        let json = match &mut self.text {
            Text::Json(held) => Some(held),
            Text::Free | Text::Ruled => None,
        };
        let most = room.saturating_mul(BYTES_OF_TOKEN);
        let mut held = self.call.iter_mut().chain(json);
        held.find_map(|held| held.ending.way_after(bytes, known, most, &fits))
    }

    fn bytes_of(&self, tokens: &[u32]) -> Vec<u8> {
        let pieces = tokens.iter().map(|token| self.tokenizer.piece(*token));
        pieces.collect::<Vec<_>>().concat()
    }

    /// Whether what is written is an answer that fits, as it is.
    pub(crate) fn is_whole(&mut self) -> bool {
        let accepts = |held: &mut Box<Held>| held.tokens.is_accepting().unwrap_or(false);
        let call = self.call.as_mut().is_some_and(accepts);
        match &mut self.text {
            Text::Json(held) => call || accepts(held),
            Text::Free | Text::Ruled => call,
        }
    }

    /// The model wrote this token.
    pub(crate) fn accept(&mut self, token: u32) -> Result<(), String> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let piece = self.tokenizer.piece(token);
        if let Some(held) = &mut self.call
            && !goes_on(held, token, piece)
        {
            self.call = None;
        }
        let goes_on = match &mut self.text {
            Text::Ruled => false,
            Text::Json(held) => goes_on(held, token, piece),
            // It did not begin like a call, or there is none to begin.
            Text::Free => !is_first || self.call.is_none(),
        };
        if !goes_on && self.call.is_some() {
            self.text = Text::Ruled;
        }
        match goes_on || self.call.is_some() {
            true => Ok(()),
            false => Err("a token came that the grammar does not allow".to_owned()),
        }
    }

    /// Whether nothing may follow.
    pub(crate) fn is_over(&self) -> bool {
        let call = self.call.as_ref();
        let call = call.is_none_or(|held| held.tokens.is_stopped());
        let text = match &self.text {
            Text::Free => false,
            Text::Json(held) => held.tokens.is_stopped(),
            Text::Ruled => true,
        };
        call && text
    }
}

/// What may come next.
///
/// Where a text must go on with certain bytes, they come in one token with what follows them, if there is such a token: in
/// pieces that no text is cut into, a model loses its way. One that would rather write a number takes the space alone from
/// `: "`, and finds itself in a text after it.
fn mask(held: &mut Held, tokenizer: &Tokenizer) -> Result<SimpleVob, String> {
    let must = held.tokens.compute_ff_bytes();
    let mask = held.tokens.compute_mask_or_eos();
    let mask = mask.map_err(|error| super::told(&error))?;
    let place = held.ending.place();
    if place.in_text() && must.is_empty() {
        return Ok(mask);
    }
    // A number goes on no longer than it may, unless it has to.
    let mask = narrowed(mask, |token| !place.overflows(tokenizer.piece(token)));
    Ok(match must.is_empty() {
        true => mask,
        false => narrowed(mask, |token| tokenizer.piece(token).starts_with(&must)),
    })
}

/// Those of the tokens that are better, if there are any.
fn narrowed(mask: SimpleVob, is_better: impl Fn(u32) -> bool) -> SimpleVob {
    let mut better = SimpleVob::alloc(mask.len());
    let mut is_there = false;
    for token in mask.iter().filter(|token| is_better(*token)) {
        better.allow_token(token);
        is_there = true;
    }
    if is_there { better } else { mask }
}

fn goes_on(held: &mut Held, token: u32, piece: &[u8]) -> bool {
    let goes_on = matches!(held.tokens.try_consume_tokens(&[token]), Ok(1));
    if goes_on {
        held.ending.push(piece);
    }
    goes_on
}
