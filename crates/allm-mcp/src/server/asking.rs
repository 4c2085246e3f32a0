//! Asking the person at the client.

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, InputRequest, InputRequiredResult,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, ServiceError};
use rmcp::{ErrorData, Peer, RoleServer};

use super::question::Form;

/// The name under which a client answers when it calls again.
pub(super) const INPUT: &str = "answer";

/// How the person at a client is asked.
#[derive(Clone)]
pub(super) enum Asking {
    /// By a request, while the call is open.
    Now(Peer<RoleServer>),
    /// The call ends with what is wanted, and the client calls again with it: from version 2026-07-28 on.
    Later,
    /// The client cannot ask anybody.
    Cannot,
}

/// Why there is no answer to a request.
pub(super) enum Unheard {
    /// The time is over.
    Late,
    /// The client failed.
    Failed(ErrorData),
}

impl Asking {
    /// How the client of a call is asked.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let capabilities = context.client_capabilities();
        let shows_forms = capabilities
            .and_then(|capabilities| capabilities.elicitation)
            // A client that names no mode has forms: there was nothing else once.
            .is_some_and(|modes| modes.form.is_some() || modes.url.is_none());
        let version = context.protocol_version();
        match shows_forms {
            false => Self::Cannot,
            true if version >= Some(ProtocolVersion::V_2026_07_28) => Self::Later,
            true => Self::Now(context.peer.clone()),
        }
    }
}

/// Asks by a request, and waits for so long.
///
/// It must be called by the task of the call: that is how the library knows which stream the request belongs to.
pub(super) async fn now(
    peer: &Peer<RoleServer>,
    message: &str,
    form: &Form,
    limit: Duration,
) -> Result<ElicitResult, Unheard> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(params(message, form)));
    let sent = peer.send_request_with_option(request, PeerRequestOptions::with_timeout(limit));
    let heard = match sent.await {
        Ok(handle) => handle.await_response().await,
        Err(error) => Err(error),
    };
    match heard {
        Ok(rmcp::model::ClientResult::ElicitResult(result)) => Ok(result),
        Ok(_) => Err(Unheard::Failed(ErrorData::invalid_request(
            "the client answered the question with something else than an answer",
            None,
        ))),
        Err(ServiceError::Timeout { .. }) => Err(Unheard::Late),
        Err(ServiceError::McpError(error)) => Err(Unheard::Failed(error)),
        Err(error) => {
            let message = format!("the client could not be asked: {error}");
            Err(Unheard::Failed(ErrorData::internal_error(message, None)))
        }
    }
}

/// Ends the call with what is wanted.
pub(super) fn later(message: &str, form: &Form, handle: String) -> InputRequiredResult {
    let request = InputRequest::Elicitation(ElicitRequest::new(params(message, form)));
    let wanted = BTreeMap::from([(INPUT.to_owned(), request)]);
    InputRequiredResult::new(Some(wanted), Some(handle))
}

fn params(message: &str, form: &Form) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: form.schema.clone(),
    }
}
