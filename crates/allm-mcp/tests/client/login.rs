//! Servers that want a person to log in.

use allm_mcp::oauth::{Login, LoginRequest};
use allm_mcp::{McpErrorKind, McpServer};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::http::script;
use crate::support::*;

const BACK: &str = "http://127.0.0.1:7777/callback";

/// What a browser does: opens a page, and is sent elsewhere.
async fn browse(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let location = answer
        .lines()
        .find_map(|line| line.strip_prefix("Location: "));
    location.unwrap().trim().to_owned()
}

/// M94: a person logs in, the tokens are used, kept, and renewed when the server wants new ones.
#[tokio::test]
async fn m94_a_login() {
    let (_child, url) = script("login_server.py", &[]).await;
    let error = McpServer::http(&url).connect().await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Unauthorized);

    let pending = LoginRequest::new(&url, BACK).begin().await.unwrap();
    let back = browse(pending.url()).await;
    assert!(back.starts_with(BACK), "{back}");
    let login = pending.finish(&back).await.unwrap();
    let kept = login.to_json().await.unwrap();
    assert!(kept.contains("token-1"), "{kept}");
    assert!(!format!("{login:?}").contains("token-1"));

    // In another process.
    let login = Login::from_json(&kept).await.unwrap();
    let server = McpServer::http(&url)
        .login(login.clone())
        .connect()
        .await
        .unwrap();
    assert_eq!(
        call(&server, "forget", nothing()).await,
        ok(json!("Bearer token-1"))
    );
    // The server takes the first token no more.
    assert_eq!(
        call(&server, "forget", nothing()).await,
        ok(json!("Bearer token-3"))
    );
    assert!(login.to_json().await.unwrap().contains("token-3"));
}

/// M94: a login that is not the one that was begun is refused.
#[tokio::test]
async fn m94_not_this_login() {
    let (_child, url) = script("login_server.py", &[]).await;
    let pending = LoginRequest::new(&url, BACK).begin().await.unwrap();
    let forged = format!("{BACK}?code=opensesame&state=other");
    let error = pending.finish(&forged).await.unwrap_err();
    assert_eq!(error.kind(), McpErrorKind::Unauthorized);
    assert!(Login::from_json("{}").await.is_err());
}
