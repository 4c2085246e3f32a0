//! `allm run`: one question, for scripts and pipes.

mod conversation;
mod end;
mod prompt;
mod show;
mod signals;

use allm::{ApprovalRule, Tool};

use crate::answer::{self, Written};
use crate::arguments::{Common, Run};
use crate::config::{Ask, Config};
use crate::engine::{self, Ready};
use crate::form::Form;
use crate::mcp::OnFailure;
use crate::model::{Chosen, Why};
use crate::patience;
use crate::problem::{Exit, Problem};

use conversation::Conversation;
pub(crate) use end::{Finished, finished};
use show::Show;

pub(crate) async fn perform(common: &Common, asked: Run) -> Result<Exit, Problem> {
    let config = Config::load(common, Ask::Person)?;
    let form = asked.schema.as_deref().map(Form::read).transpose()?;
    let message = prompt::message(&asked)?;
    let mut ready = engine::build(&asked.asking, None, &config, OnFailure::End).await?;
    if asked.yes {
        approve_all(&mut ready)?;
    }
    if ready.chosen.why == Why::Embedded {
        let Chosen { model, why } = &ready.chosen;
        answer::note(&format!("({model} answers, {})", why.in_words()));
    }
    let mut conversation = Conversation::begin(common, &asked, &config, &ready.tools).await?;
    let mut show = Show::new(&asked, form.is_some(), &ready);
    let signals = signals::Signals::listen()?;
    let cancel = signals.cancel();
    let mut waits = patience::listen();
    let result = {
        let mut call = conversation
            .reply(&ready.engine, message)
            .cancel(cancel.clone());
        if let Some(form) = &form {
            call = call.response_format(form.response_format());
            // Whoever calls tools and is held to a form at once may do neither: the form comes after the tools.
            if !ready.tools.is_empty() && !engine::knows_models(&ready.chosen, &config) {
                call = call.structured_finalize();
            }
        }
        let mut events = call.stream();
        let told = async {
            loop {
                tokio::select! {
                    event = events.next() => match event {
                        Some(event) => if show.event(&event).is_err() {
                            // Nobody reads any more, or what is said cannot be written: the run has no purpose.
                            cancel.cancel();
                        },
                        None => break,
                    },
                    wait = waits.next(&ready.chosen.model) => answer::note(&wait),
                }
            }
            events.finish().await
        };
        tokio::select! {
            result = told => Some(result),
            () = signals.twice() => None,
        }
    };
    let Some(result) = result else {
        conversation.leave_behind();
        return Ok(Exit::Interrupted);
    };
    let end = end::of(
        result,
        &conversation,
        form.as_ref(),
        &ready,
        &config,
        signals.was_heard(),
    );
    let written = show.end(&end, &conversation);
    let deleted = conversation.end(&end).await;
    match (written?, end.problem) {
        // A session that waits is kept, and somebody must know its id.
        (Written::Unread, Some(problem)) if problem.exit == Exit::Waiting => return Err(problem),
        // `allm run … | head` has what it wanted.
        (Written::Unread, _) => {}
        (Written::Whole, Some(problem)) => return Err(problem),
        (Written::Whole, None) => {}
    }
    deleted.map(|()| Exit::Done)
}

/// The same engine, with tools that nobody is asked about.
fn approve_all(ready: &mut Ready) -> Result<(), Problem> {
    let tools = ready.tools.iter().cloned();
    let tools: Vec<Tool> = tools
        .map(|tool| tool.approval(ApprovalRule::Never))
        .collect();
    ready.engine = ready
        .engine
        .with(|builder| builder.only_tools(tools.clone()))?;
    ready.tools = tools;
    Ok(())
}
