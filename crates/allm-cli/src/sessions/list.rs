//! `allm sessions list`.

use allm::session::{OpenWait, Wait};
use allm::{Head, LoadFrom, Role, SessionFilter, SessionStatus, Sessions, session};
use serde_json::{Value, json};

use super::{Desk, fault, find, output};
use crate::answer::note;
use crate::arguments::Common;
use crate::problem::{Exit, Problem};
use crate::transcript::plain::{cut, one_line, padded, width};
use crate::transcript::wait_in_words;

/// The longest title, where the width does not say otherwise.
const TITLE: usize = 60;
/// The longest id that is shown whole in a terminal.
const ID: usize = 32;
/// The room under which a title gets a line of its own.
const NARROW: usize = 16;

/// Which sessions, and in which form.
pub(super) struct Wanted {
    pub(super) status: Option<String>,
    pub(super) waiting: bool,
    pub(super) limit: usize,
    pub(super) json: bool,
}

/// A session in a list.
struct Row {
    head: Head,
    /// What the head does not have; a session that cannot be read has a fault instead.
    read: Result<Contents, String>,
}

struct Contents {
    title: String,
    messages: usize,
    waits: Vec<OpenWait>,
}

pub(super) async fn list(common: &Common, wanted: Wanted) -> Result<Exit, Problem> {
    let filter = filter(&wanted)?;
    let desk = Desk::open(common).await?;
    let heads = find::newest(&desk.sessions, &filter, wanted.limit).await?;
    let now = desk.sessions.store().now().await?.as_millis();
    if heads.is_empty() {
        note("No sessions.");
        return Ok(Exit::Done);
    }
    let mut rows = Vec::with_capacity(heads.len());
    for head in heads {
        let read = contents(&desk.sessions, &head).await;
        rows.push(Row { head, read });
    }
    let text = match wanted.json {
        true => rows.iter().map(line).collect(),
        false => table(&rows, now, output::columns()),
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn filter(wanted: &Wanted) -> Result<SessionFilter, Problem> {
    let mut filter = SessionFilter::new();
    if let Some(status) = &wanted.status {
        let named = status.replace('-', "_");
        let known = SessionStatus::ALL.into_iter();
        let known = known.into_iter().find(|status| status.as_str() == named);
        let Some(known) = known else {
            let all = SessionStatus::ALL.map(SessionStatus::as_str).join(", ");
            return Err(
                Problem::usage(format!("`{}` is no status", one_line(status)))
                    .advice(format!("one of: {all}")),
            );
        };
        filter = filter.status(known);
    }
    if wanted.waiting {
        use SessionStatus::{AwaitingApproval, AwaitingTools, AwaitingUser};
        let waiting = [AwaitingUser, AwaitingApproval, AwaitingTools];
        if wanted.status.is_some() && !filter.statuses.iter().all(|one| waiting.contains(one)) {
            return Err(
                Problem::usage("no session with this status waits for a person")
                    .advice("leave out --status or --waiting"),
            );
        }
        if filter.statuses.is_empty() {
            filter = waiting.into_iter().fold(filter, SessionFilter::status);
        }
    }
    Ok(filter)
}

/// What a head does not have. The newest snapshot and what came after it is all that is read.
async fn contents(sessions: &Sessions, head: &Head) -> Result<Contents, String> {
    let loaded = sessions.store().load(&head.id, LoadFrom::Snapshot).await;
    let read = match &loaded {
        Ok(loaded) => session::Session::from_journal(loaded),
        Err(error) => Err(error.clone().into()),
    };
    let session = match read {
        Ok((session, _)) => session,
        // The snapshot may be bad and the journal good; opening tries both.
        Err(_) => match sessions.open(head.id.as_str()).await {
            Ok(session) => (*session).clone(),
            Err(error) => return Err(fault::told(head.id.as_str(), &error).what().to_owned()),
        },
    };
    let thread = session.thread();
    let mut messages = thread.messages.iter();
    let first = messages.find(|message| message.role == Role::User);
    // One that was never driven has its first message in the inbox.
    let queued = session.inbox().first().map(|queued| queued.message.text());
    let title = first.map(|message| message.text()).or(queued);
    Ok(Contents {
        title: one_line(&title.unwrap_or_default()),
        messages: thread.len(),
        waits: session.waits(),
    })
}

/// A row as a line of JSON.
fn line(row: &Row) -> String {
    let head = &row.head;
    let mut line = json!({
        "id": head.id,
        "uid": head.uid,
        "version": head.version,
        "status": head.status,
        "runnable": head.runnable,
        "created_at": head.created_at,
        "updated_at": head.updated_at,
        "tags": head.tags,
        "driven_by": head.lease.as_ref().map(|lease| &lease.holder),
    });
    let more = match &row.read {
        Ok(read) => json!({
            "title": read.title,
            "messages": read.messages,
            "waits": read.waits.iter().map(wait).collect::<Vec<_>>(),
        }),
        Err(fault) => json!({"fault": fault}),
    };
    if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
        line.extend(more);
    }
    format!("{line}\n")
}

fn wait(wait: &OpenWait) -> Value {
    let (call, tool) = (wait.call, &wait.tool);
    let (kind, expires_at) = (wait.wait.kind().as_str(), wait.wait.expires_at());
    let mut value = json!({"call": call, "kind": kind, "tool": tool, "expires_at": expires_at});
    let more = match &wait.wait {
        Wait::Approval(approval) => json!({
            "approval": approval.approval_id,
            "arguments": approval.arguments,
            "reason": approval.reason,
        }),
        Wait::Question(question) => {
            json!({"question": question.question, "options": question.options})
        }
        Wait::Result(result) => json!({"reason": result.reason}),
        _ => json!({}),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

/// The rows in columns. Without a limit nothing but a long title is cut.
fn table(rows: &[Row], now: i64, columns: Option<usize>) -> String {
    let mut cells: Vec<[String; 4]> = vec![["ID", "STATUS", "AGE", "MESSAGES"].map(str::to_owned)];
    for row in rows {
        let id = row.head.id.as_str();
        let id = match columns {
            Some(_) => cut(id, ID),
            None => id.to_owned(),
        };
        let status = row.head.status.as_str().replace('_', " ");
        let age = age(now.saturating_sub(row.head.updated_at.as_millis()));
        let messages = row
            .read
            .as_ref()
            .map_or("?".to_owned(), |read| read.messages.to_string());
        cells.push([id, status, age, messages]);
    }
    let mut widths = [0; 4];
    for row in &cells {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = width(cell).max(*widest);
        }
    }
    // Two spaces between columns.
    let before: usize = widths.iter().map(|width| width + 2).sum();
    let room = columns.map_or(TITLE, |columns| columns.saturating_sub(before));
    let titles = std::iter::once("TITLE".to_owned()).chain(rows.iter().map(title));
    let mut text = String::new();
    for ((index, cells), title) in cells.iter().enumerate().zip(titles) {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| padded(cell, width));
        let mut line = padded.collect::<Vec<_>>().join("  ");
        let is_head = index == 0;
        if room >= NARROW {
            line = format!("{line}  {}", cut(&title, room));
        }
        text.push_str(&ended(&line, columns));
        if room < NARROW && !is_head {
            text.push_str(&ended(&format!("  {title}"), columns));
        }
        let row = index.checked_sub(1).and_then(|index| rows.get(index));
        let waits = row
            .and_then(|row| row.read.as_ref().ok())
            .map(|read| &read.waits);
        for wait in waits.into_iter().flatten() {
            let words = format!("  waits for {}", wait_in_words(wait));
            text.push_str(&ended(&words, columns));
        }
    }
    text
}

fn title(row: &Row) -> String {
    match &row.read {
        Ok(read) => read.title.clone(),
        Err(fault) => format!("({fault})"),
    }
}

fn ended(line: &str, columns: Option<usize>) -> String {
    let line = line.trim_end();
    match columns {
        Some(columns) => format!("{}\n", cut(line, columns)),
        None => format!("{line}\n"),
    }
}

/// How long ago, in one unit.
fn age(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m", seconds / 60),
        3600..=86_399 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let ages = [-5, 0, 59_999, 60_000, 3_599_999, 3_600_000, 90_000_000].map(age);
        assert_eq!(ages, ["0s", "0s", "59s", "1m", "59m", "1h", "1d"]);
    }
}
