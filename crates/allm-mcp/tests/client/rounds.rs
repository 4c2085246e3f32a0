//! Servers that keep nothing: what they want to know comes with the next call.

use serde_json::json;

use crate::support::*;

/// M51: the call is made again with the answer and the server's own state, also by another process.
#[tokio::test]
async fn m8_m51_rounds() {
    let tool = named(&connected("rounds").await.tools(), "echo");
    let asked = run(&tool, nothing(), context("key-1")).await;
    assert_eq!(question(&asked).0, "Your name?");
    let tool = named(&connected("rounds").await.tools(), "echo");
    let said = run(&tool, nothing(), answered("key-1", &asked.unwrap(), "Ada")).await;
    let accept = json!({"action": "accept", "content": {"name": "Ada"}});
    assert_eq!(
        parsed(said),
        json!({"state": "sealed", "given": {"who": accept}})
    );
}
