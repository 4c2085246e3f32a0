//! What must hold when a program was killed and another one went on.

use std::collections::BTreeSet;

use allm::session::{CallKey, Outcome, OutcomeSource};
use serde_json::Value;

use crate::facts::{Facts, Stop};
use crate::world::Seen;

/// How things stood when a program died.
#[derive(Clone, Debug)]
pub struct Death {
    /// Where it died.
    pub at: String,
    /// What the journal said; nothing when there was no session yet.
    pub facts: Option<Facts>,
    /// What had happened in the world.
    pub seen: Seen,
}

/// What is wrong.
pub type Faults = Vec<String>;

/// Compares the end with that of a run in which nobody died.
#[must_use]
pub fn faults(unkilled: &Facts, end: &Facts, deaths: &[Death], seen: &Seen) -> Faults {
    let mut faults: Faults = end.violations.clone();
    faults.extend(seen.violations.iter().cloned());
    // S80
    let stops = stops_without(&lost_before_asking(deaths), unkilled);
    if end.stops != stops {
        faults.push(format!("stops: {:?}, not {stops:?}", end.stops));
    }
    for (key, outcome) in &unkilled.outcomes {
        faults.extend(outcome_fault(*key, *outcome, end, deaths));
        faults.extend(count_fault(*key, unkilled, end, seen));
    }
    for death in deaths {
        faults.extend(again_faults(death, seen));
    }
    if let Some(death) = deaths.last() {
        faults.extend(recovery_faults(death, end, seen));
    }
    let (is, should) = (with_known(end, unkilled), unkilled.end());
    if is != should {
        faults.push(format!("it ended as\n{is}\nand not as\n{should}"));
    }
    faults
}

/// The calls that nobody may run again and that were lost before they had asked anything.
fn lost_before_asking(deaths: &[Death]) -> BTreeSet<CallKey> {
    let facts = deaths.iter().filter_map(|death| death.facts.as_ref());
    let lost = facts.flat_map(|facts| {
        let open = facts.open_intents("at_most_once");
        open.filter(|key| !facts.answered.contains(key))
    });
    lost.collect()
}

/// Where a run without a death stopped, had these calls asked nothing.
fn stops_without(lost: &BTreeSet<CallKey>, unkilled: &Facts) -> Vec<Stop> {
    let never: BTreeSet<_> = lost.iter().map(|key| format!("{key} question")).collect();
    let mut stops = Vec::new();
    for (status, waits) in &unkilled.stops {
        let left = waits.iter().filter(|wait| !never.contains(*wait)).cloned();
        let left: Vec<_> = left.collect();
        let is_no_stop = left.is_empty() && !waits.is_empty();
        let stop = (*status, left);
        if !is_no_stop && stops.last() != Some(&stop) {
            stops.push(stop);
        }
    }
    stops
}

/// S80, S82: the outcome is that of the run without a death, unless nobody can know it.
fn outcome_fault(key: CallKey, as_unkilled: Outcome, end: &Facts, deaths: &[Death]) -> Faults {
    let lost = |death: &Death| {
        let facts = death.facts.as_ref();
        facts.is_some_and(|facts| facts.open_intents("at_most_once").any(|open| open == key))
    };
    let should = match deaths.iter().any(lost) {
        true => Outcome::UnknownOutcome,
        false => as_unkilled,
    };
    match end.outcomes.get(&key) {
        Some(outcome) if *outcome == should => Faults::new(),
        outcome => vec![format!("{key} came to {outcome:?}, not {should:?}")],
    }
}

/// S81: how often a call had its effect.
fn count_fault(key: CallKey, unkilled: &Facts, end: &Facts, seen: &Seen) -> Faults {
    let Some((tool, id)) = unkilled.calls.get(&key) else {
        return vec![format!("{key} is not a call")];
    };
    let has_effect = unkilled.outcomes.get(&key) == Some(&Outcome::Ok)
        && unkilled.sources.get(&key) == Some(&OutcomeSource::Handler);
    let acted = seen.acted(id);
    let mut keys: Vec<_> = seen
        .entered
        .iter()
        .filter(|hit| hit.call_id == *id)
        .collect();
    keys.dedup_by_key(|hit| hit.key.clone());
    let is_ok = end.outcomes.get(&key) == Some(&Outcome::Ok);
    let fits = keys.len() <= 1
        && match tool.split('_').next() {
            _ if !has_effect => true,
            Some("pure" | "idem") => acted >= 1,
            Some("recon") => acted == 1,
            _ => acted <= 1 && (!is_ok || acted == 1),
        };
    match fits {
        true => Faults::new(),
        false => vec![format!("{key} {tool} acted {acted} times, keys {keys:?}")],
    }
}

/// S90: what is known is not done again.
fn again_faults(death: &Death, seen: &Seen) -> Faults {
    let mut faults = Faults::new();
    let Some(facts) = &death.facts else {
        return faults;
    };
    for key in facts.outcomes.keys() {
        let Some((tool, id)) = facts.calls.get(key) else {
            continue;
        };
        if death.seen.entered(id) != seen.entered(id) {
            let at = &death.at;
            faults.push(format!("{tool} {key} was known and ran again after {at}"));
        }
    }
    faults
}

/// S86 to S88: what becomes of calls that were open when the last program died.
fn recovery_faults(death: &Death, end: &Facts, seen: &Seen) -> Faults {
    let mut faults = Faults::new();
    let Some(facts) = &death.facts else {
        return faults;
    };
    let mut must = |fits: bool, what: String| {
        if !fits {
            faults.push(what);
        }
    };
    let again = |key: &CallKey| {
        let (_, id) = facts.calls.get(key).cloned().unwrap_or_default();
        seen.entered(&id) - death.seen.entered(&id)
    };
    // S189: who died before it asked asks once more, and goes on with the answer.
    let attempts = |key: &CallKey| {
        let tool = facts.calls.get(key).map(|(tool, _)| tool.as_str());
        let asks = tool.is_some_and(|tool| tool.ends_with("going"));
        1 + usize::from(asks && !facts.answered.contains(key))
    };
    for key in facts.open_intents("at_most_once") {
        must(again(&key) == 0, format!("{key} ran again"));
    }
    for key in facts.open_intents("idempotent") {
        let is_cancelled = end.outcomes.get(&key) != Some(&Outcome::Ok);
        must(
            is_cancelled || again(&key) == attempts(&key),
            format!("{key} ran {} times more", again(&key)),
        );
    }
    for key in facts.open_intents("reconcile") {
        let (_, id) = facts.calls.get(&key).cloned().unwrap_or_default();
        let done = death.seen.acted(&id) > 0;
        let source = end.sources.get(&key);
        must(
            again(&key) == if done { 0 } else { attempts(&key) },
            format!("{key} ran {} times more", again(&key)),
        );
        must(
            (source == Some(&OutcomeSource::Probe)) == done,
            format!("{key} was told by {source:?}"),
        );
    }
    faults
}

/// The end, with what nobody can know as it was where nobody died.
fn with_known(end: &Facts, unkilled: &Facts) -> Value {
    let mut value = end.end();
    let known = unkilled.messages();
    // Whoever settles what another began cannot know how far it came: the words differ, the outcome does not.
    let vague = [Outcome::UnknownOutcome, Outcome::Cancelled];
    let lost = end.outcomes.iter();
    let lost = lost.filter(|(_, outcome)| vague.contains(outcome));
    let ids: Vec<_> = lost
        .filter_map(|(key, _)| end.calls.get(key).map(|(_, id)| id.clone()))
        .collect();
    let is_of =
        |message: &Value, id: &String| message.get("tool_call_id") == Some(&id.as_str().into());
    let Some(messages) = value.get_mut("messages").and_then(Value::as_array_mut) else {
        return value;
    };
    for message in messages {
        let Some(id) = ids.iter().find(|id| is_of(message, id)) else {
            continue;
        };
        let text = message.to_string();
        if !text.contains("unknown_outcome") && !text.contains("cancelled") {
            continue;
        }
        if let Some(known) = known.iter().find(|message| is_of(message, id)) {
            *message = known.clone();
        }
    }
    value
}
