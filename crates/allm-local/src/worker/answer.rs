//! One answer, token by token.

use std::sync::atomic::Ordering;

use allm_core::{AdapterReason, FinishReason, Request, Role, Usage, Warning};

use super::calls::{Calls as CallReader, Piece};
use super::decision::{Question, decide};
use super::loaded::Loaded;
use super::may::{May, offered};
use super::sampler::Sampler;
use super::speech::{Said, Speech};
use super::{Counters, Job, Summary, Update};
use crate::grammar::{Choice, Saying, Side, outspoken};
use crate::model::Cache;
use crate::prompt::Writer;

/// How many tokens of a prompt are read at once: between two such pieces one can stop.
const AT_ONCE: usize = 32;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Halt {
    /// Nobody waits for it.
    Unwanted,
    Failed(AdapterReason, String),
}

impl Halt {
    /// Something inside failed.
    pub(super) fn broken(error: impl std::fmt::Display) -> Self {
        Self::Failed(AdapterReason::GenerationFailed, error.to_string())
    }
}

pub(super) fn answer(loaded: &mut Loaded, job: &Job, counters: &Counters) -> Option<Update> {
    match answered(loaded, job, counters) {
        Ok(summary) => Some(Update::Done(Box::new(summary))),
        Err(Halt::Unwanted) => None,
        Err(Halt::Failed(reason, message)) => Some(Update::Failed(reason, message)),
    }
}

fn answered(loaded: &mut Loaded, job: &Job, counters: &Counters) -> Result<Summary, Halt> {
    let request = &*job.request;
    let offered = offered(request);
    let mut may = May::of(request, &offered);
    let writer = Writer {
        template: &loaded.template,
        tokenizer: &loaded.tokenizer,
        style: loaded.style,
    };
    // What was read only to decide, and what the answer's own prompt found read, if it was read to decide.
    let (mut before, mut begun) = (Spent::default(), None);
    let prompt = if loaded.template.knows_tools() {
        tokens(loaded, writer.write(request, &offered))?
    } else if may.callable.is_empty() {
        tokens(loaded, writer.answering(request))?
    } else {
        let prompt = tokens(loaded, writer.deciding(request, &offered))?;
        let neutral = tokens(loaded, writer.neutral(request, &offered))?;
        let answering = writer.answering(request);
        let question = Question {
            prompt: &prompt,
            neutral: &neutral,
            names: &may.names(),
            is_required: may.saying == Saying::Nothing,
            is_after_result: request
                .messages
                .iter()
                .next_back()
                .is_some_and(|message| message.role == Role::Tool),
        };
        let mut cache = loaded.caches.take(&prompt, || loaded.model.cache());
        let reused = cache.len();
        let decided = decide(loaded, job, &question, &mut cache);
        loaded.caches.put_back(cache);
        may.first = decided?;
        match may.first {
            Some(_) => {
                for tool in &mut may.callable {
                    tool.schema = outspoken(&tool.schema);
                }
                may.saying = Saying::Nothing;
                begun = Some(reused);
                prompt
            }
            None => {
                may.callable.clear();
                before = Spent {
                    read: prompt.len(),
                    reused,
                };
                tokens(loaded, answering)?
            }
        }
    };
    let mut answer = Answer::new(loaded, request, may, prompt.len())?;
    let mut cache = loaded.caches.take(&prompt, || loaded.model.cache());
    let spent = Spent {
        read: before.read + prompt.len(),
        reused: before.reused + begun.unwrap_or(cache.len()),
    };
    let end = answer.run(loaded, job, counters, &prompt, &mut cache);
    loaded.caches.put_back(cache);
    let (end, written) = end?;
    Ok(answer.summary(end, spent, written))
}

/// The tokens of prompts, and those of them that had been read before.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    read: usize,
    reused: usize,
}

/// The tokens of a prompt, if they leave room for an answer.
fn tokens(loaded: &Loaded, text: Result<String, String>) -> Result<Vec<u32>, Halt> {
    let text = text.map_err(|error| {
        let message = format!("the model's chat template refuses the conversation: {error}");
        Halt::Failed(AdapterReason::InvalidRequest, message)
    })?;
    let prompt = loaded.tokenizer.prompt(&text);
    let context = loaded.model.config().context;
    if prompt.is_empty() || prompt.len() >= context {
        let count = prompt.len();
        let message = format!(
            "the conversation has {count} tokens, and the model takes {context} with its answer; shorten the conversation"
        );
        return Err(Halt::Failed(AdapterReason::ContextLengthExceeded, message));
    }
    Ok(prompt)
}

/// Reads what the cache has not read of a prompt, and nothing else; gives the scores of what comes next.
pub(super) fn read(
    loaded: &Loaded,
    job: &Job,
    prompt: &[u32],
    cache: &mut Cache,
) -> Result<Vec<f32>, Halt> {
    let known = cache.common(prompt).min(prompt.len().saturating_sub(1));
    cache.cut(known);
    let mut scores = Vec::new();
    for piece in prompt.get(known..).unwrap_or_default().chunks(AT_ONCE) {
        if job.is_unwanted() {
            return Err(Halt::Unwanted);
        }
        scores = loaded.model.read(piece, cache).map_err(Halt::broken)?;
        job.tell(Update::Alive);
    }
    Ok(scores)
}

/// An answer as it is written.
struct Answer {
    choice: Choice,
    sampler: Sampler,
    speech: Speech,
    calls: CallReader,
    /// What came while it was open whether it is a call.
    undecided: Vec<u8>,
    has_calls: bool,
    max_tokens: usize,
    /// Whether the limit is ours and not the caller's.
    is_default_limit: bool,
    /// Whether something was left out because of the limit.
    is_limited: bool,
    /// Whether a space at its beginning is none of its own.
    drops_space: bool,
}

/// What comes next.
enum Step {
    /// Several where the grammar leaves no choice.
    Tokens(Vec<u32>),
    /// The shortest way to an answer that fits: there is room for nothing else.
    Closing(Vec<u32>),
    End,
}

/// How often another token is looked for where one leaves no room for the end.
const TRIES: usize = 4;

/// How the writing ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With the model's own mark, or because nothing may follow.
    Whole,
    StopText,
    Limit,
}

impl Answer {
    /// Everything up to the first token.
    fn new(loaded: &Loaded, request: &Request, may: May, prompt: usize) -> Result<Self, Halt> {
        let choice = Choice::new(
            &loaded.grammars,
            &loaded.tokenizer,
            &may.callable,
            may.calls,
            &may.saying,
            loaded.style,
            may.first,
        );
        let choice = choice.map_err(|error| {
            let message = format!("the model cannot be held to a schema of the request: {error}");
            Halt::Failed(AdapterReason::InvalidRequest, message)
        })?;
        let limit = request.max_tokens.unwrap_or(loaded.max_tokens) as usize;
        Ok(Self {
            choice,
            sampler: Sampler::new(request),
            speech: Speech::new(&request.stop),
            calls: CallReader::new(loaded.style, may.names()),
            undecided: Vec::new(),
            has_calls: false,
            max_tokens: limit.min(loaded.model.config().context - prompt),
            is_default_limit: request.max_tokens.is_none(),
            is_limited: false,
            drops_space: loaded.tokenizer.adds_space(),
        })
    }

    /// Writes the answer; gives its end and how many tokens were written.
    fn run(
        &mut self,
        loaded: &Loaded,
        job: &Job,
        counters: &Counters,
        prompt: &[u32],
        cache: &mut Cache,
    ) -> Result<(End, usize), Halt> {
        let mut scores = read(loaded, job, prompt, cache)?;
        let mut written = 0;
        let end = loop {
            let room = self.max_tokens - written;
            let (tokens, is_closing) = match self.next(loaded, &mut scores, room)? {
                Step::Tokens(tokens) => (tokens, false),
                Step::Closing(tokens) => (tokens, true),
                Step::End => break End::Whole,
            };
            let tokens = tokens.get(..room.min(tokens.len())).unwrap_or_default();
            written += tokens.len();
            counters.tokens.fetch_add(1, Ordering::Relaxed);
            let mut is_stopped = false;
            for token in tokens {
                is_stopped = self.say(job, loaded.tokenizer.piece(*token));
                if is_stopped {
                    break;
                }
            }
            if is_stopped {
                break End::StopText;
            }
            if is_closing || self.choice.is_over() {
                break End::Whole;
            }
            if written >= self.max_tokens {
                // What fits as it is was not cut.
                let is_whole = self.choice.is_whole();
                break if is_whole { End::Whole } else { End::Limit };
            }
            if job.is_unwanted() {
                return Err(Halt::Unwanted);
            }
            for piece in tokens.chunks(AT_ONCE) {
                scores = loaded.model.read(piece, cache).map_err(Halt::broken)?;
            }
        };
        Ok((self.finish(job, end), written))
    }

    /// What comes next, where there is room for so many tokens.
    fn next(&mut self, loaded: &Loaded, scores: &mut [f32], room: usize) -> Result<Step, Halt> {
        let forced = self.choice.forced();
        if !forced.is_empty() {
            let after = room.saturating_sub(forced.len());
            return match self.choice.leave_room(&forced, after) {
                true => self.accept(&forced).map(|()| Step::Tokens(forced)),
                false => self.close(),
            };
        }
        for token in &loaded.unspoken {
            if let Some(score) = scores.get_mut(*token as usize) {
                *score = f32::NEG_INFINITY;
            }
        }
        self.choice.restrict(scores).map_err(Halt::broken)?;
        self.sampler.penalise(scores);
        for attempt in 0..TRIES {
            let Some(token) = self.sampler.choose(scores) else {
                if attempt > 0 {
                    break;
                }
                return Err(Halt::broken("the model has no score for any token"));
            };
            if loaded.tokenizer.ends().contains(&token) {
                return Ok(Step::End);
            }
            if self.choice.leave_room(&[token], room.saturating_sub(1)) {
                self.sampler.taken(token);
                self.accept(&[token])?;
                return Ok(Step::Tokens(vec![token]));
            }
            self.is_limited = true;
            if let Some(score) = scores.get_mut(token as usize) {
                *score = f32::NEG_INFINITY;
            }
        }
        self.close()
    }

    fn accept(&mut self, tokens: &[u32]) -> Result<(), Halt> {
        let mut tokens = tokens.iter();
        tokens.try_for_each(|token| self.choice.accept(*token).map_err(Halt::broken))
    }

    fn close(&mut self) -> Result<Step, Halt> {
        self.is_limited = true;
        let tokens = self.choice.last_tokens();
        let tokens = tokens.ok_or_else(|| Halt::broken("the answer has no end"))?;
        self.accept(&tokens)?;
        Ok(Step::Closing(tokens))
    }

    /// Tells what a token says; `true` when it completes a text that ends the answer.
    fn say(&mut self, job: &Job, bytes: &[u8]) -> bool {
        let is_first = self.drops_space && !bytes.is_empty();
        let meant = bytes.strip_prefix(b" ").filter(|_| is_first);
        self.drops_space &= !is_first;
        self.undecided.extend_from_slice(meant.unwrap_or(bytes));
        match self.choice.side() {
            Side::Open => {
                job.tell(Update::Alive);
                false
            }
            Side::Text => self.say_text(job),
            Side::Call => {
                self.say_calls(job);
                false
            }
        }
    }

    fn say_text(&mut self, job: &Job) -> bool {
        let said = self.speech.push(&std::mem::take(&mut self.undecided));
        let (text, is_stopped) = match said {
            Said::More(text) => (text, false),
            Said::Stopped(text) => (text, true),
        };
        match text.is_empty() {
            true => job.tell(Update::Alive),
            false => job.tell(Update::Text(text)),
        }
        is_stopped
    }

    fn say_calls(&mut self, job: &Job) {
        // Only whole characters: the rest of one comes with the next token.
        let whole = match std::str::from_utf8(&self.undecided) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.undecided.drain(..whole).collect();
        let pieces = self.calls.push(&String::from_utf8_lossy(&text));
        for piece in pieces {
            job.tell(match piece {
                Piece::Begun(name) => {
                    self.has_calls = true;
                    Update::CallBegun(name)
                }
                Piece::Arguments(text) => Update::CallArguments(text),
                Piece::Ended => Update::CallEnded,
            });
        }
        job.tell(Update::Alive);
    }

    /// Tells what was held back.
    fn finish(&mut self, job: &Job, end: End) -> End {
        if self.has_calls || end == End::StopText {
            return end;
        }
        // A call that was cut before its name was known is nothing that could be shown, and no text either.
        if self.choice.side() == Side::Call {
            return end;
        }
        let is_stopped = self.say_text(job);
        let (rest, is_stopped) = match self.speech.finish() {
            _ if is_stopped => (String::new(), true),
            Said::More(text) => (text, false),
            Said::Stopped(text) => (text, true),
        };
        if !rest.is_empty() {
            job.tell(Update::Text(rest));
        }
        if is_stopped { End::StopText } else { end }
    }

    fn summary(&self, end: End, spent: Spent, written: usize) -> Summary {
        let (finish, raw_finish) = match end {
            End::Limit => (FinishReason::Length, "length"),
            // It fits its schema, but it is not what the model would have called: nobody may run it.
            End::Whole if self.has_calls && self.is_limited => (FinishReason::Length, "length"),
            End::Whole if self.has_calls => (FinishReason::ToolCalls, "stop"),
            End::Whole => (FinishReason::Stop, "stop"),
            End::StopText => (FinishReason::Stop, "stop_text"),
        };
        let is_cut = end == End::Limit && self.is_default_limit;
        let warning = (is_cut || self.is_limited).then(|| {
            let (code, advice) = match self.is_default_limit {
                true => ("default_max_tokens_reached", "set max_tokens"),
                false => ("max_tokens_reached", "raise max_tokens"),
            };
            let what = if is_cut { "cut" } else { "brought to an end" };
            let detail = format!("the answer was {what} after {written} tokens; {advice}");
            Warning {
                code: code.to_owned(),
                path: None,
                detail: Some(detail),
            }
        });
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Summary {
            finish,
            raw_finish,
            usage: Usage {
                cached_input_tokens: Some(count(spent.reused)),
                ..Usage::io(count(spent.read), count(written))
            },
            warnings: warning.into_iter().collect(),
        }
    }
}
