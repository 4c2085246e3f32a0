//! The names of spans, events, attributes and metrics.

macro_rules! names {
    ($( $(#[$doc:meta])* $name:ident = $text:literal; )+) => {
        $( $(#[$doc])* pub const $name: &str = $text; )+
    };
}

names! {
    /// The span of a step or a chat.
    RUN = "allm.run";
    /// The span of one turn.
    STEP = "allm.step";
    /// The span of a model call, with all its attempts.
    MODEL_CALL = "allm.model_call";
    /// The span of a tool call.
    TOOL = "allm.tool";
    /// The event before each wait for another attempt.
    RETRY = "allm.retry";
    /// The event that holds the content of a model call or a tool call, when that is asked for.
    CONTENT = "gen_ai.client.inference.operation.details";

    /// The span's name for people.
    OTEL_NAME = "otel.name";
    /// `client` for model calls.
    OTEL_KIND = "otel.kind";
    /// `ERROR` on failure.
    OTEL_STATUS_CODE = "otel.status_code";
    /// Our code for why something failed.
    ERROR_TYPE = "error.type";
    /// The provider's host.
    SERVER_ADDRESS = "server.address";
    /// The provider's port.
    SERVER_PORT = "server.port";

    /// `chat`, `execute_tool` or `invoke_agent`.
    OPERATION_NAME = "gen_ai.operation.name";
    /// Who is asked, by the convention's name.
    PROVIDER_NAME = "gen_ai.provider.name";
    /// The session.
    CONVERSATION_ID = "gen_ai.conversation.id";
    /// `text` or `json`.
    OUTPUT_TYPE = "gen_ai.output.type";
    /// Who is asked.
    REQUEST_MODEL = "gen_ai.request.model";
    /// All output tokens.
    REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens";
    /// As sent.
    REQUEST_TEMPERATURE = "gen_ai.request.temperature";
    /// As sent.
    REQUEST_TOP_P = "gen_ai.request.top_p";
    /// As sent.
    REQUEST_TOP_K = "gen_ai.request.top_k";
    /// As sent.
    REQUEST_SEED = "gen_ai.request.seed";
    /// An array.
    REQUEST_STOP_SEQUENCES = "gen_ai.request.stop_sequences";
    /// As sent.
    REQUEST_FREQUENCY_PENALTY = "gen_ai.request.frequency_penalty";
    /// As sent.
    REQUEST_PRESENCE_PENALTY = "gen_ai.request.presence_penalty";
    /// Always true.
    REQUEST_STREAM = "gen_ai.request.stream";
    /// The provider's id of the answer.
    RESPONSE_ID = "gen_ai.response.id";
    /// The model that answered.
    RESPONSE_MODEL = "gen_ai.response.model";
    /// An array of one.
    RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons";
    /// Seconds from the start of the attempt that succeeded to its first content.
    RESPONSE_TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk";
    /// The whole prompt, cached parts included.
    USAGE_INPUT_TOKENS = "gen_ai.usage.input_tokens";
    /// The whole answer, reasoning included.
    USAGE_OUTPUT_TOKENS = "gen_ai.usage.output_tokens";
    /// The part of the prompt read from a cache.
    USAGE_CACHE_READ = "gen_ai.usage.cache_read.input_tokens";
    /// The part of the prompt written to a cache.
    USAGE_CACHE_CREATION = "gen_ai.usage.cache_creation.input_tokens";
    /// The part of the answer that was thinking.
    USAGE_REASONING = "gen_ai.usage.reasoning.output_tokens";
    /// The tool that is called.
    TOOL_NAME = "gen_ai.tool.name";
    /// Always `function`.
    TOOL_TYPE = "gen_ai.tool.type";
    /// The id of the call.
    TOOL_CALL_ID = "gen_ai.tool.call.id";

    /// What was sent, as JSON; only with content.
    INPUT_MESSAGES = "gen_ai.input.messages";
    /// What was answered, as JSON; only with content.
    OUTPUT_MESSAGES = "gen_ai.output.messages";
    /// What a tool was called with, as JSON; only with content.
    TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments";
    /// What the model is told of a tool's answer; only with content.
    TOOL_CALL_RESULT = "gen_ai.tool.call.result";

    /// Our id of the outermost call.
    REQUEST_ID = "allm.request_id";
    /// How often a model call was tried.
    ATTEMPTS = "allm.attempts";
    /// Which turn, from 0.
    TURN = "allm.turn";
    /// How many turns a run made.
    TURNS = "allm.turns";
    /// Why a run stopped.
    HALTED_REASON = "allm.halted_reason";

    /// Seconds of a model call, to its end.
    OPERATION_DURATION = "gen_ai.client.operation.duration";
    /// Tokens of a model call, one value for `input` and one for `output`.
    TOKEN_USAGE = "gen_ai.client.token.usage";
    /// Seconds to the first content of a model call.
    TIME_TO_FIRST_CHUNK = "gen_ai.client.operation.time_to_first_chunk";
    /// Seconds between two pieces of content.
    TIME_PER_OUTPUT_CHUNK = "gen_ai.client.operation.time_per_output_chunk";
}

/// The convention's name of a provider.
#[must_use]
pub fn provider(name: &str) -> &str {
    match name {
        "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "azure" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}
