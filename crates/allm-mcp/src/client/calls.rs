//! The calls that are open at a server, and which of them a question belongs to.

use std::collections::HashMap;
use std::sync::Arc;

use allm_core::{Progress, ProgressSink, ToolContext};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientRequest, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::question::Asked;

/// How many questions of one call may wait.
const QUESTIONS: usize = 8;

/// How many questions may wait until it can be told of whom they are. Further ones are declined.
const WAITING: usize = 32;

/// The open calls of one connection.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<Registry>>);

#[derive(Default)]
struct Registry {
    open: HashMap<RequestId, Entry>,
    by_token: HashMap<ProgressToken, RequestId>,
    begun: u64,
    /// Questions that it cannot yet be told of whom they are.
    waiting: Vec<Waiting>,
}

struct Entry {
    order: u64,
    run: RunOf,
    progress: Option<Arc<dyn ProgressSink>>,
    last: f64,
    questions: mpsc::Sender<Asked>,
    /// Whether a question of it waits for its answer.
    asks: bool,
}

/// Which run a call is part of.
#[derive(Clone, PartialEq)]
struct RunOf {
    session: Option<String>,
    request: Option<String>,
}

impl RunOf {
    fn of(context: &ToolContext) -> Self {
        Self {
            session: context.session_id.as_ref().map(ToString::to_string),
            request: context.request_id.as_ref().map(ToString::to_string),
        }
    }
}

struct Waiting {
    candidates: Vec<RequestId>,
    asked: Asked,
}

/// A call that is open at the server. Dropping it cancels it there.
pub(super) struct OpenCall {
    pub(super) id: RequestId,
    token: ProgressToken,
    pub(super) response: oneshot::Receiver<Result<ServerResult, ServiceError>>,
    pub(super) questions: mpsc::Receiver<Asked>,
    calls: Calls,
    peer: Peer<RoleClient>,
    runtime: tokio::runtime::Handle,
    is_done: bool,
}

impl Calls {
    /// Sends a call.
    pub(super) async fn begin(
        &self,
        peer: &Peer<RoleClient>,
        params: CallToolRequestParams,
        context: &ToolContext,
    ) -> Result<OpenCall, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let (ask, questions) = mpsc::channel(QUESTIONS);
        // What the server says about the call finds it: nobody else looks before it is entered.
        let mut registry = self.0.lock().await;
        let handle = peer
            .send_request_with_option(request, PeerRequestOptions::no_options())
            .await?;
        registry.begun = registry.begun.saturating_add(1);
        let entry = Entry {
            order: registry.begun,
            run: RunOf::of(context),
            progress: context.progress.clone(),
            last: f64::NEG_INFINITY,
            questions: ask,
            asks: false,
        };
        registry.open.insert(handle.id.clone(), entry);
        let token = handle.progress_token;
        registry.by_token.insert(token.clone(), handle.id.clone());
        Ok(OpenCall {
            id: handle.id,
            token,
            response: handle.rx,
            questions,
            calls: self.clone(),
            peer: peer.clone(),
            runtime: tokio::runtime::Handle::current(),
            is_done: false,
        })
    }

    /// How far a call is.
    pub(super) async fn progress(&self, token: &ProgressToken, at: f64, progress: Progress) {
        let mut registry = self.0.lock().await;
        let Registry { open, by_token, .. } = &mut *registry;
        let entry = by_token.get(token).and_then(|id| open.get_mut(id));
        let Some(entry) = entry else { return };
        // Notifications may overtake each other on their way here.
        if at > entry.last {
            entry.last = at;
            if let Some(sink) = &entry.progress {
                sink.report(progress);
            }
        }
    }

    /// A question of the server. `of` is the call it came with, where the transport tells.
    ///
    /// Where it does not, it belongs to one of the calls that are open now. Those that ask nothing end by themselves, so
    /// it is that of the last one, or they are of as many calls as there are questions.
    pub(super) async fn ask(&self, asked: Asked, of: Option<RequestId>) {
        let mut registry = self.0.lock().await;
        if registry.waiting.len() >= WAITING {
            return;
        }
        let candidates = match of {
            Some(id) => vec![id],
            None => {
                let mut open: Vec<_> = registry.open.iter().collect();
                open.sort_by_key(|(_, entry)| entry.order);
                open.into_iter().map(|(id, _)| id.clone()).collect()
            }
        };
        registry.waiting.push(Waiting { candidates, asked });
        registry.settle();
    }

    /// This call is gone on with: what the server says of it is for whoever does.
    async fn take_up(&self, id: &RequestId, context: &ToolContext) {
        let mut registry = self.0.lock().await;
        if let Some(entry) = registry.open.get_mut(id) {
            entry.run = RunOf::of(context);
            entry.progress.clone_from(&context.progress);
        }
    }

    /// A question of this call was answered.
    pub(super) async fn answered(&self, id: &RequestId) {
        let mut registry = self.0.lock().await;
        if let Some(entry) = registry.open.get_mut(id) {
            entry.asks = false;
        }
        registry.settle();
    }

    async fn forget(&self, id: &RequestId, token: &ProgressToken) {
        let mut registry = self.0.lock().await;
        registry.open.remove(id);
        registry.by_token.remove(token);
        registry.settle();
    }
}

impl Registry {
    /// Gives questions to the calls that they must be of. Those that cannot be of any are dropped, which declines them.
    fn settle(&mut self) {
        let mut at = 0;
        while let Some(waiting) = self.waiting.get(at) {
            match self.place(waiting) {
                Place::Unknown => at = at.saturating_add(1),
                Place::Nowhere => {
                    self.waiting.remove(at);
                }
                Place::Call(id) => {
                    let asked = self.waiting.remove(at).asked;
                    if let Some(entry) = self.open.get_mut(&id)
                        && entry.questions.try_send(asked).is_ok()
                    {
                        entry.asks = true;
                    }
                    // Others may be known now.
                    at = 0;
                }
            }
        }
    }

    fn place(&self, waiting: &Waiting) -> Place {
        let entries = |asks: bool| {
            let open = &self.open;
            let of = waiting.candidates.iter();
            of.filter_map(move |id| open.get(id).map(|entry| (id, entry)))
                .filter(move |(_, entry)| entry.asks == asks)
        };
        let free: Vec<_> = entries(false).collect();
        let Some((first, entry)) = free.first() else {
            // A call may ask twice: the second question waits for the answer to the first.
            return match entries(true).next() {
                Some(_) => Place::Unknown,
                None => Place::Nowhere,
            };
        };
        // A question goes to the person of its own run and to nobody else. A call that has asked waits for its answer, so
        // it is hardly of that.
        let is_known = entry.run.session.is_some() || entry.run.request.is_some();
        let is_one_run =
            free.len() == 1 || is_known && free.iter().all(|(_, other)| other.run == entry.run);
        let questions = self.waiting.iter().filter(|other| {
            let mut others = other.candidates.iter();
            others.any(|id| free.iter().any(|(free, _)| *free == id))
        });
        if free.len() > questions.count() {
            return Place::Unknown;
        }
        match is_one_run {
            true => Place::Call((*first).clone()),
            false => {
                tracing::warn!("a question of the server is declined: it may be of several runs");
                Place::Nowhere
            }
        }
    }
}

enum Place {
    Call(RequestId),
    /// Not yet known.
    Unknown,
    Nowhere,
}

impl OpenCall {
    /// It is gone on with, by another call of the handler than the one that began it.
    pub(super) async fn take_up(&self, context: &ToolContext) {
        self.calls.take_up(&self.id, context).await;
    }

    /// A question of this call was answered.
    pub(super) async fn answered(&self) {
        self.calls.answered(&self.id).await;
    }

    /// The server has answered, or is gone: there is nothing to cancel.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let (calls, peer) = (self.calls.clone(), self.peer.clone());
        let (id, token, is_done) = (self.id.clone(), self.token.clone(), self.is_done);
        self.runtime.spawn(async move {
            calls.forget(&id, &token).await;
            if !is_done {
                let reason = Some("the call was stopped".to_owned());
                let params = CancelledNotificationParam::new(Some(id), reason);
                let cancelled = CancelledNotification::new(params);
                let _ = peer.send_notification(cancelled.into()).await;
            }
        });
    }
}
