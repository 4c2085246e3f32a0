//! Ends: of calls, of clients, of the service.

use std::time::Duration;

use allm_core::CancelToken;
use serde_json::json;

use crate::support::{Client, Hold, echo, service, text};

/// M130
#[tokio::test]
async fn a_cancelled_call_is_stopped_and_not_answered() {
    let hold = Hold::new();
    let mut client = Client::plain(service([hold.tool(), echo()])).await;
    let id = client.begin("hold").await;
    hold.began().await;
    let reason = json!({"requestId": id, "reason": "no more need"});
    client.notify("notifications/cancelled", reason).await;
    hold.was_fired().await;
    // The next answer is that to the next request.
    let result = client.call("echo", json!({"text": "still here"})).await;
    assert_eq!(result["isError"], json!(false));
}

/// M131
#[tokio::test(start_paused = true)]
async fn when_a_client_leaves_its_calls_have_five_seconds() {
    let hold = Hold::new();
    let mut client = Client::plain(service([hold.tool()])).await;
    client.begin("hold").await;
    hold.began().await;
    let left = tokio::time::Instant::now();
    client.close().await;
    hold.was_fired().await;
    assert_eq!(left.elapsed().as_secs(), 5);
    (&mut client.served).await.unwrap().unwrap();
}

/// M131
#[tokio::test(start_paused = true)]
async fn what_is_ready_in_time_is_still_told() {
    let hold = Hold::new();
    let mut client = Client::plain(service([hold.tool()])).await;
    let id = client.begin("hold").await;
    hold.began().await;
    client.close().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    hold.go.add_permits(1);
    let answer = client.hear().await.unwrap();
    assert_eq!(answer["id"], json!(id));
    assert_eq!(text(&answer["result"]), "held");
    (&mut client.served).await.unwrap().unwrap();
}

/// M132
#[tokio::test(start_paused = true)]
async fn a_service_that_stops_gives_its_calls_two_seconds() {
    let hold = Hold::new();
    let cancel = CancelToken::new();
    let service = service([hold.tool()]).cancel(cancel.clone());
    let mut client = Client::plain(service).await;
    for _ in 0..2 {
        client.begin("hold").await;
        hold.began().await;
    }
    let stopped = tokio::time::Instant::now();
    cancel.cancel();
    hold.go.add_permits(1);
    assert_eq!(text(&client.hear().await.unwrap()["result"]), "held");
    assert!(stopped.elapsed().as_secs() < 2);
    // The token of the one that has not ended.
    hold.was_fired().await;
    assert_eq!(stopped.elapsed().as_secs(), 2);
    (&mut client.served).await.unwrap().unwrap();
}

/// M133
#[tokio::test]
async fn a_service_that_is_dropped_stops_its_calls() {
    let hold = Hold::new();
    let mut client = Client::plain(service([hold.tool()])).await;
    client.begin("hold").await;
    hold.began().await;
    client.served.abort();
    tokio::time::timeout(Duration::from_secs(20), hold.was_fired())
        .await
        .unwrap();
}

/// M130
#[tokio::test]
async fn a_cancelled_question_ends_the_call() {
    let mut client = Client::asking(service([crate::asking::books()])).await;
    let id = client.begin("book").await;
    let asked = client.hear().await.unwrap();
    assert_eq!(asked["method"], json!("elicitation/create"));
    client
        .notify("notifications/cancelled", json!({"requestId": id}))
        .await;
    // Too late.
    let late = json!({"action": "accept", "content": {"answer": "aisle"}});
    client.answer(&asked, late).await;
    let mut answer = client.ask("ping", json!({})).await;
    if answer["method"] == json!("notifications/cancelled") {
        answer = client.hear().await.unwrap();
    }
    assert_eq!(answer["result"], json!({}));
}
