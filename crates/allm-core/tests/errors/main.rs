//! Errors (core.md, C139 to C145, C171; loop.md, L206).

#[cfg(test)]
mod codes;
#[cfg(test)]
mod failure;
#[cfg(test)]
mod shown;

use allm_core::{
    AdapterError, AdapterReason, Cause, EngineError, EngineReason, Error, Fault, FaultCode,
    FinishReason, HaltReason, Interrupted, JsonError, JsonReason, Message, Path, Response,
    StreamError, StreamReason, ToolError, ToolReason, Unfinished, ValidationError,
    ValidationReason,
};

fn partial(reason: FinishReason) -> Response {
    Response {
        finish_reason: Some(reason),
        ..Response::new(Message::assistant("the secret prompt"))
    }
}

/// One error of each family, every text of which has two lines and a cause of two levels.
fn each() -> Vec<Error> {
    let text = "one\r\ntwo\n";
    let source = Some(Box::new(Cause::new("the root")));
    let cause = || {
        Some(Cause {
            message: "the cause".to_owned(),
            source: source.clone(),
        })
    };
    let fault = Fault::new(Path::root().field("a\nb"), FaultCode::Empty).detail(text);
    vec![
        EngineError {
            cause: cause(),
            ..EngineError::new(EngineReason::NoModel, text)
        }
        .into(),
        ValidationError::new(ValidationReason::InvalidThread, vec![fault; 7]).into(),
        AdapterError {
            status: Some(503),
            cause: cause(),
            ..AdapterError::new("x\ny", AdapterReason::Timeout, text)
        }
        .into(),
        StreamError {
            cause: cause(),
            ..StreamError::new(StreamReason::Stalled, text)
        }
        .into(),
        JsonError::new(JsonReason::Malformed, Path::root().field("a\nb"), text).into(),
        ToolError {
            cause: cause(),
            tool_name: Some("a\nb".into()),
            ..ToolError::new(ToolReason::Timeout, text)
        }
        .into(),
        Unfinished::new(partial(FinishReason::Length)).into(),
        Unfinished::halted(HaltReason::MaxTurns, None).into(),
        Unfinished::halted(
            HaltReason::from_text("a\nb").unwrap_or(HaltReason::Error),
            Some(partial(FinishReason::Stop)),
        )
        .into(),
        Interrupted {
            partial: partial(FinishReason::Error),
            source: StreamError::interrupted().into(),
        }
        .into(),
    ]
}
