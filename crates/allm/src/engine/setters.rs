//! The methods that set settings, the same on the engine and on every call.

/// Methods of a builder with a field `settings`.
macro_rules! setters {
    (request) => {
        setters! { @plain
            /// Who is asked: `provider:model`.
            model(impl Into<String>);
            /// 0 to 2.
            temperature(f64);
            /// Above 0, up to 1.
            top_p(f64);
            /// At least 1.
            top_k(u32);
            /// For answers that can be had again.
            seed(i64);
            /// −2 to 2.
            presence_penalty(f64);
            /// −2 to 2.
            frequency_penalty(f64);
            /// All output tokens, reasoning included.
            max_tokens(u32);
            /// The form of the answer.
            response_format(allm_core::ResponseFormat);
            /// How much to think.
            reasoning(allm_core::Reasoning);
            /// How much to say.
            verbosity(allm_core::Verbosity);
            /// The provider's class of service.
            service_tier(impl Into<String>);
            /// The end user, for the provider's abuse checks.
            user(impl Into<String>);
            /// Whether and which tool must be called.
            tool_choice(allm_core::ToolChoice);
            /// Whether several calls may come at once.
            parallel_tool_calls(allm_core::ParallelCalls);
            /// Whether the provider should remember the prompt.
            prompt_cache(allm_core::PromptCache);
        }

        /// Texts that end the answer.
        pub fn stop<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
            let texts = texts.into_iter().map(Into::into).collect();
            self.settings.stop = crate::engine::level::Level::Set(texts);
            self
        }

        /// Provider parameters, merged into the body last; object into object, level by level.
        pub fn extra(mut self, extra: allm_core::Map) -> Self {
            crate::engine::settings::deep_merge(&mut self.settings.extra, &extra);
            self
        }

        /// The caller's own facts about the request; never sent.
        pub fn metadata(mut self, metadata: allm_core::Map) -> Self {
            self.settings.metadata.extend(metadata);
            self
        }

        /// Switches a setting off, whatever the next levels say.
        pub fn off(mut self, setting: crate::Setting) -> Self {
            self.settings.off(setting);
            self
        }
    };
    (call) => {
        setters! { @plain
            /// How failed attempts are repeated.
            retry(crate::RetryPolicy);
            /// The tenant, for key sources.
            tenant(impl Into<allm_core::TenantId>);
            /// The wire that is spoken, by its name, where a provider has several: `openai.responses` or `openai.chat`.
            wire(impl Into<String>);
            /// Whether telemetry records content, after redaction.
            capture_content(crate::Toggle);
            /// Whether the provider's body is kept in the response.
            raw_body(crate::Toggle);
            /// How long it may take to connect: name, TCP and TLS.
            connect_timeout(std::time::Duration);
            /// How long it may take from the request sent to the head of the answer.
            first_byte_timeout(std::time::Duration);
            /// How long the answer may be silent; a comment or a ping counts as life.
            idle_timeout(std::time::Duration);
            /// How long no event may come, although bytes may flow.
            stall_timeout(std::time::Duration);
            /// How long the whole model call may take, waits and retries included.
            deadline(std::time::Duration);
            /// How long one lookup of a key may take.
            key_timeout(std::time::Duration);
        }

        /// How long each part of a model call may take: all six limits at once, `None` being no limit.
        pub fn timeouts(mut self, timeouts: allm_core::Timeouts) -> Self {
            self.settings.set_timeouts(timeouts);
            self
        }

        /// A header of every request. Names are written in lower case, as they do not differ by case.
        pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            let name = name.into().to_ascii_lowercase();
            self.settings.headers.insert(name, value.into());
            self
        }

        /// A query parameter of every request.
        pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            self.settings.query.insert(name.into(), value.into());
            self
        }
    };
    (tools) => {
        /// One more tool; it takes the place of one of the same name of the next levels. Two of one name at one level
        /// are refused.
        pub fn tool<M>(mut self, tool: impl crate::IntoTool<M>) -> Self {
            self.settings.tools.push(tool.into_tool());
            self
        }

        /// More tools; each takes the place of one of the same name of the next levels. Two of one name at one level are
        /// refused.
        pub fn tools<M, T: crate::IntoTool<M>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
            for tool in crate::engine::tools_of(tools) {
                self.settings.tools.push(tool);
            }
            self
        }

        /// A tool built into a provider.
        pub fn provider_tool(mut self, tool: allm_core::ProviderTool) -> Self {
            self.settings.tools.push_spec(allm_core::ToolSpec::Provider(tool));
            self
        }

        /// These tools and no others, whatever the next levels have.
        pub fn only_tools<M, T: crate::IntoTool<M>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
            self.settings.tools.only(crate::engine::tools_of(tools));
            self
        }

        /// No tools, whatever the next levels have.
        pub fn no_tools(mut self) -> Self {
            self.settings.tools.only([]);
            self
        }
    };
    (observed) => {
        /// Told of each event of the provider, before filters, by whoever polls. A panic in it unwinds to that caller.
        pub fn on_event(mut self, on_event: impl Fn(&allm_core::Event) + Send + Sync + 'static) -> Self {
            self.settings.on_event = crate::engine::level::Level::Set(std::sync::Arc::new(on_event));
            self
        }

        setters! { @plain
            /// Whether deltas of text and reasoning are passed on.
            text_deltas(crate::Toggle);
            /// Whether deltas of tool calls are passed on.
            tool_deltas(crate::Toggle);
            /// Whether what came over the wire is passed on.
            raw_chunks(crate::Toggle);
        }

        /// Leaves deltas of text and reasoning out of the stream. Results do not change.
        pub fn without_text_deltas(self) -> Self {
            self.text_deltas(crate::Toggle::Off)
        }

        /// Leaves deltas of tool calls out of the stream. Results do not change.
        pub fn without_tool_deltas(self) -> Self {
            self.tool_deltas(crate::Toggle::Off)
        }

        /// Passes on what came over the wire.
        pub fn with_raw_chunks(self) -> Self {
            self.raw_chunks(crate::Toggle::On)
        }
    };
    (run) => {
        setters! { @plain
            /// Who runs the calls.
            mode(allm_core::Mode);
            /// What becomes of failed calls.
            on_tool_error(crate::OnToolError);
            /// What becomes of calls that name no tool.
            unknown_tools(allm_core::run::UnknownTools);
            /// How long a person has to agree to a call; [`Duration::MAX`](std::time::Duration::MAX) is for ever. For
            /// sessions.
            approval_expiry(std::time::Duration);
            /// How long somebody has to answer a question of a tool, or to give the result of a manual call; for ever,
            /// unless it is said. For sessions.
            wait_expiry(std::time::Duration);
            /// What becomes of calls whose outcome a crash destroyed. For sessions.
            on_unknown_outcome(crate::OnUnknownOutcome);
            /// How long a call may take; a tool's own limit beats it.
            tool_timeout(std::time::Duration);
            /// How many calls run at once.
            max_concurrency(usize);
            /// How much encoded content a call may have, in bytes.
            max_tool_output(usize);
            /// How much argument text of a call is read, in bytes.
            max_tool_arguments(usize);
            /// How long a turn may take.
            turn_deadline(std::time::Duration);
            /// How long the run may take.
            run_deadline(std::time::Duration);
            /// How many calls the run may run.
            max_tool_calls(u64);
            /// How many tokens the run may use.
            max_run_tokens(u64);
            /// How much the run may cost, in USD.
            max_run_cost(f64);
        }

        /// Asked about each call that is to be run: whether a person must agree first. A call that a person must agree
        /// to is left open; a session knows what it waits for.
        pub fn approval_policy(
            mut self,
            policy: impl Fn(&crate::ApprovalRequest<'_>) -> crate::ApprovalAnswer + Send + Sync + 'static,
        ) -> Self {
            self.settings.approval_policy = crate::engine::level::Level::Set(std::sync::Arc::new(policy));
            self
        }

        /// Who runs handlers.
        pub fn executor(mut self, executor: impl allm_core::ToolExecutor + 'static) -> Self {
            self.settings.executor = crate::engine::level::Level::Set(std::sync::Arc::new(executor));
            self
        }

        /// Who makes values into text.
        pub fn encoder(mut self, encoder: impl allm_core::ToolResultEncoder + 'static) -> Self {
            self.settings.encoder = crate::engine::level::Level::Set(std::sync::Arc::new(encoder));
            self
        }

        /// A value for handlers, read by type. It replaces that of the next level as a whole.
        pub fn context<T: Send + Sync + 'static>(mut self, context: T) -> Self {
            self.settings.context = crate::engine::level::Level::Set(std::sync::Arc::new(context));
            self
        }
    };
    (identity) => {
        /// The key of this call; it beats every other.
        pub fn api_key(mut self, key: allm_core::ApiKey) -> Self {
            self.settings.api_key = crate::engine::level::Level::Set(key);
            self
        }

        /// Our id of the call; one is made when none is given.
        pub fn request_id(mut self, id: impl Into<allm_core::RequestId>) -> Self {
            self.settings.request_id = crate::engine::level::Level::Set(id.into());
            self
        }

        /// The session that handlers are told of, and the key of prompt caches that have none. A text is made into an id
        /// with `parse`: `.session_id("user-7".parse()?)`. Without it a call of a session tells of its own.
        pub fn session_id(mut self, id: allm_core::SessionId) -> Self {
            self.settings.session_id = crate::engine::level::Level::Set(id);
            self
        }
    };
    (chat) => {
        setters! { @plain
            /// How many turns at most.
            max_turns(u32);
            /// The user message that opens the second pass; empty for none.
            structured_finalize_nudge(impl Into<String>);
        }

        /// Asked after each turn that may go on: true halts the run.
        pub fn halt_when(
            mut self,
            halt_when: impl Fn(&allm_core::StepResult) -> bool + Send + Sync + 'static,
        ) -> Self {
            self.settings.halt_when = crate::engine::level::Level::Set(std::sync::Arc::new(halt_when));
            self
        }

        /// Asks for the structured answer in a second pass, after the tools.
        pub fn structured_finalize(mut self) -> Self {
            self.settings.structured_finalize = crate::engine::level::Level::Set(crate::Toggle::On);
            self
        }
    };
    (@plain $( $(#[$doc:meta])* $name:ident($type:ty); )+) => {
        $(
            $(#[$doc])*
            pub fn $name(mut self, value: $type) -> Self {
                self.settings.$name = crate::engine::level::Level::Set(value.into());
                self
            }
        )+
    };
}

pub(crate) use setters;
