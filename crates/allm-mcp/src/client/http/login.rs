//! Requests of a login.

use http_body_util::Full;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};

use super::body::whole;
use super::exchange::HttpClient;

/// Redirects are never followed: what is sent here is secret.
impl OAuthHttpClient for HttpClient {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let request = asked.request.map(|body| Full::new(body.into()));
            let exchange = async {
                let response = self.send(request).await?;
                let (head, body) = response.into_parts();
                let body = whole(body, self.limit()).await?;
                Ok(http::Response::from_parts(head, body.to_vec()))
            };
            match asked.timeout {
                Some(limit) => tokio::time::timeout(limit, exchange).await?,
                None => exchange.await,
            }
        })
    }
}
