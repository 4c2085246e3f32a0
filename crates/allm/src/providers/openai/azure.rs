//! OpenAI's models on Azure.

use std::sync::Arc;

use allm_core::{
    Adapter, BoxStream, Capabilities, EngineError, Event, KeyUse, ModelCall, Support,
    ValidationError,
};

use super::{Api, Wires, own_profile};
use crate::providers::compat::profile::Profile;
use crate::providers::connection::{
    Auth, Connection, connection_answers, connection_options, encoded,
};

/// OpenAI's models on Azure. The key is sent as `api-key`; say `auth(Auth::Bearer)` for tokens of Entra.
///
/// ```
/// use allm::Azure;
///
/// // `/openai/v1`, where the model of a call names the deployment:
/// let azure = Azure::new("my-resource");
/// // or one deployment, as its older address has it:
/// let azure = Azure::new("my-resource").deployment("gpt-4o-eu", "2024-10-21");
/// ```
#[derive(Clone, Debug)]
pub struct Azure {
    connection: Connection,
    api: Api,
    /// A deployment and its API version, told by the older address.
    deployment: Option<(String, String)>,
    resource: String,
    profile: Arc<Profile>,
}

impl Azure {
    /// A resource, by its name.
    pub fn new(resource: impl Into<String>) -> Self {
        let resource = resource.into();
        let base_url = format!("https://{resource}.openai.azure.com/openai/v1");
        let auth = Auth::Header("api-key".to_owned());
        Self {
            connection: Connection::new("azure", &base_url, auth),
            api: Api::Auto,
            deployment: None,
            resource,
            profile: Arc::new(own_profile()),
        }
    }

    /// One deployment, at `…/openai/deployments/{name}` with `api-version` in the query. It is asked by Chat Completions.
    #[must_use]
    pub fn deployment(mut self, name: impl Into<String>, api_version: impl Into<String>) -> Self {
        let name = name.into();
        self.connection.base_url = format!(
            "https://{}.openai.azure.com/openai/deployments/{}",
            self.resource,
            encoded(&name)
        )
        .into();
        self.connection.query.retain(|(known, _)| known != VERSION);
        let version = api_version.into();
        self.connection
            .query
            .push((VERSION.to_owned(), version.clone()));
        self.deployment = Some((name, version));
        self
    }

    /// Which API is asked.
    #[must_use]
    pub fn api(mut self, api: Api) -> Self {
        self.api = api;
        self
    }

    connection_options!();

    fn wires(&self, call: &ModelCall) -> Wires<'_> {
        let configured = match (self.api, &self.deployment) {
            (Api::Auto, Some(_)) => Api::ChatCompletions,
            (api, _) => api,
        };
        Wires {
            connection: &self.connection,
            profile: &self.profile,
            headers: Vec::new(),
            api: configured.for_call(call),
        }
    }
}

const VERSION: &str = "api-version";

impl Adapter for Azure {
    connection_answers!();

    fn check_config(&self) -> Result<(), EngineError> {
        if self.deployment.is_some() && self.api == Api::Responses {
            let message = "a deployment's address has no Responses API; leave `deployment` out";
            return Err(self.connection.bad(message));
        }
        self.connection.check()
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities {
            streaming: Support::Yes,
            tools_with_json_schema: Support::Yes,
            ..Capabilities::default()
        }
    }

    fn key_use(&self) -> KeyUse {
        self.connection.key_use(KeyUse::Required)
    }

    fn check(&self, call: &ModelCall) -> Result<(), ValidationError> {
        self.wires(call).check(call)
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        self.wires(&call).stream(call)
    }
}

#[cfg(test)]
mod tests {
    use allm_core::{ModelRef, Request};

    use super::*;

    fn call(model: &str) -> ModelCall {
        let model = ModelRef {
            provider: "azure".into(),
            model: model.to_owned(),
        };
        ModelCall::new(Request::new("hi"), model, "r")
    }

    #[test]
    fn p87_two_addresses() {
        let azure = Azure::new("res");
        let base = "https://res.openai.azure.com/openai";
        assert_eq!(azure.connection.base_url.as_str(), format!("{base}/v1"));
        assert_eq!(azure.connection.auth, Auth::Header("api-key".to_owned()));
        assert_eq!(azure.wires(&call("gpt-5")).api, Api::Responses);
        assert_eq!(azure.wires(&call("gpt-4o")).api, Api::ChatCompletions);
        let azure = azure.deployment("a b", "v1").deployment("a b", "v2");
        assert_eq!(
            azure.connection.base_url.as_str(),
            format!("{base}/deployments/a%20b")
        );
        assert_eq!(
            azure.connection.query,
            [("api-version".to_owned(), "v2".to_owned())]
        );
        assert_eq!(azure.wires(&call("gpt-5")).api, Api::ChatCompletions);
    }
}
