//! The options that every provider over HTTP has.

/// Methods of a provider with a field `connection`.
macro_rules! connection_options {
    () => {
        /// What stands before the wire's own path.
        #[must_use]
        pub fn base_url(mut self, url: impl Into<String>) -> Self {
            let url: String = url.into();
            self.connection.base_url = url.into();
            self
        }

        /// A header of every request. It beats ours of the same name, but for `content-type`, `content-length`, `host`
        /// and `accept`.
        #[must_use]
        pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            self.connection.headers.push((name.into(), value.into()));
            self
        }

        /// A query parameter of every request.
        #[must_use]
        pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            self.connection.query.push((name.into(), value.into()));
            self
        }

        /// The key. An empty one counts as none; one that cannot be sent is told when an engine is built.
        #[must_use]
        pub fn api_key(mut self, key: impl Into<String>) -> Self {
            match allm_core::ApiKey::new(key) {
                Ok(key) => {
                    self.connection.key = key.map(|key| std::sync::Arc::new(key) as _);
                    self.connection.bad_key = None;
                }
                Err(error) => self.connection.bad_key = Some(error),
            }
            self
        }

        /// Where keys come from.
        #[must_use]
        pub fn key_source(mut self, source: impl allm_core::KeySource + 'static) -> Self {
            self.connection.key = Some(std::sync::Arc::new(source));
            self
        }

        /// How the key is sent.
        #[must_use]
        pub fn auth(mut self, auth: crate::Auth) -> Self {
            self.connection.auth = auth;
            self
        }

        /// All time limits of calls to this provider. They beat the engine's; a call's own beat them.
        #[must_use]
        pub fn timeouts(mut self, timeouts: allm_core::Timeouts) -> Self {
            self.connection.timeouts = Some(timeouts);
            self
        }

        /// What we call ourselves.
        #[must_use]
        pub fn user_agent(mut self, agent: impl Into<String>) -> Self {
            self.connection.user_agent = agent.into();
            self
        }

        /// Lets the key go over plain HTTP to another machine. Anybody on the way can read it.
        #[must_use]
        pub fn allow_plain_http(mut self) -> Self {
            self.connection.plain_http = true;
            self
        }

        /// How large one event of an answer may be; 16 MiB if not said.
        #[must_use]
        pub fn max_event_bytes(mut self, bytes: usize) -> Self {
            self.connection.max_event_bytes = bytes;
            self
        }

        /// How large a request may be; 64 MiB if not said.
        #[must_use]
        pub fn max_body_bytes(mut self, bytes: usize) -> Self {
            self.connection.max_body_bytes = bytes;
            self
        }

        /// How large a picture may be that is sent along; 20 MiB if not said.
        #[must_use]
        pub fn max_image_bytes(mut self, bytes: usize) -> Self {
            self.connection.max_image_bytes = bytes;
            self
        }

        /// Writes down all that goes over the network, for tests to come. See [`Recorder`](crate::Recorder).
        #[must_use]
        #[cfg(feature = "record")]
        pub fn record(mut self, recorder: &crate::Recorder) -> Self {
            self.connection.carrier =
                crate::providers::connection::Carrier::Recorded(recorder.clone());
            self
        }

        /// Answers from a recording: no network is touched and no key is asked for. See [`Replay`](crate::Replay).
        #[must_use]
        #[cfg(feature = "record")]
        pub fn replay(mut self, replay: &crate::Replay) -> Self {
            self.connection.carrier =
                crate::providers::connection::Carrier::Replayed(replay.clone());
            self
        }

        /// Registers this configuration under a name of its own.
        #[must_use]
        pub fn named(mut self, name: impl Into<allm_core::ProviderName>) -> Self {
            self.connection.name = name.into();
            self
        }
    };
}

/// The methods of `Adapter` that a field `connection` answers.
macro_rules! connection_answers {
    () => {
        fn provider(&self) -> &allm_core::ProviderName {
            &self.connection.name
        }

        fn server(&self) -> Option<allm_core::Server> {
            self.connection.server()
        }

        fn timeouts(&self) -> Option<allm_core::Timeouts> {
            self.connection.timeouts
        }

        fn key_source(&self) -> Option<&dyn allm_core::KeySource> {
            self.connection.key.as_deref()
        }
    };
}

pub(crate) use {connection_answers, connection_options};
