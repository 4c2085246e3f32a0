//! What calls come to.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm_core::{
    EncodeError, File, Image, Part, Progress, ReportedError, Tool, ToolContext, ToolReply,
    ToolResultEncoder,
};
use serde_json::{Value, json};

use crate::support::{Client, Hold, echo, failure, object, service, text};

/// M105
#[tokio::test]
async fn an_object_is_text_and_structured_content() {
    let mut client = Client::plain(service([echo()])).await;
    let result = client
        .call("echo", json!({"text": "hi", "more": [1]}))
        .await;
    assert_eq!(
        result,
        json!({
            "content": [{"type": "text", "text": r#"{"more":[1],"text":"hi"}"#}],
            "structuredContent": {"text": "hi", "more": [1]},
            "isError": false
        })
    );
}

/// M105
#[tokio::test]
async fn a_text_is_itself_and_other_values_are_json() {
    for (value, told) in [
        (json!("a\nb"), "a\nb"),
        (json!([1, 2]), "[1,2]"),
        (json!(null), "null"),
    ] {
        let given = value.clone();
        let tool = Tool::new("give", "", object()).handler(move |_: Value| {
            let value = given.clone();
            async move { Ok::<_, std::fmt::Error>(value) }
        });
        let mut client = Client::plain(service([tool])).await;
        let result = client.call("give", json!({})).await;
        assert_eq!(
            result,
            json!({"content": [{"type": "text", "text": told}], "isError": false})
        );
    }
}

/// M106
#[tokio::test]
async fn what_is_cut_does_not_go_out_another_way() {
    let mut client = Client::plain(service([echo()]).max_tool_output(20)).await;
    let result = client.call("echo", json!({"text": "x".repeat(100)})).await;
    let cut = text(&result);
    assert!(cut.starts_with(r#"{"text":"xxxxxxxxxxx"#), "{cut}");
    assert!(cut.len() < 100, "{cut}");
    assert_eq!(result.get("structuredContent"), None);
}

/// Leaves everything out but the length.
struct Lengths;

impl ToolResultEncoder for Lengths {
    fn encode(&self, value: &Value) -> Result<String, EncodeError> {
        Ok(format!("{} bytes", value.to_string().len()))
    }
}

/// M107
#[tokio::test]
async fn what_an_encoder_leaves_out_does_not_go_out_another_way() {
    let mut client = Client::plain(service([echo()]).encoder(Lengths)).await;
    let result = client.call("echo", json!({"text": "secret"})).await;
    assert_eq!(
        result,
        json!({"content": [{"type": "text", "text": "17 bytes"}], "isError": false})
    );
}

/// M108
#[tokio::test]
async fn blocks_of_mcp_go_out_as_they_are() {
    let blocks = json!([
        {"type": "text", "text": "a picture"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "test://x", "mimeType": "text/plain", "text": "x"}}
    ]);
    let given = blocks.clone();
    let tool = Tool::new("show", "", object()).handler(move |_: Value| {
        let blocks = given.clone();
        async move { Ok::<_, std::fmt::Error>(json!({"content": blocks})) }
    });
    let mut client = Client::plain(service([tool])).await;
    let result = client.call("show", json!({})).await;
    assert_eq!(result, json!({"content": blocks, "isError": false}));
}

/// M192
#[tokio::test]
async fn pictures_and_files_of_a_reply_go_out() {
    let tool = Tool::new("show", "", object()).handler(move |said: Value| async move {
        let picture = Part::image(Image::from_bytes(vec![0, 0, 0], "image/png"));
        let paper = Part::file(File::from_base64("AAAA", "application/pdf"));
        ToolReply::ok_with(&said["text"], [picture, paper])
    });
    let mut client = Client::plain(service([tool])).await;
    let picture = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let file = json!({"uri": "allm:file/1", "mimeType": "application/pdf", "blob": "AAAA"});
    let file = json!({"type": "resource", "resource": file});
    let result = client.call("show", json!({"text": "See."})).await;
    let said = json!({"type": "text", "text": "See."});
    assert_eq!(
        result,
        json!({"content": [said, picture, file], "isError": false})
    );
    let result = client.call("show", json!({"text": ""})).await;
    assert_eq!(
        result,
        json!({"content": [picture, file], "isError": false})
    );
}

/// M190
#[tokio::test]
async fn texts_in_blocks_are_cut_like_any_other() {
    let tool = Tool::new("show", "", object()).handler(move |_: Value| async move {
        let long = "x".repeat(1000);
        let resource = json!({"uri": "test://x", "mimeType": "text/plain", "text": long});
        Ok::<_, std::fmt::Error>(json!({"content": [
            {"type": "text", "text": long},
            {"type": "resource", "resource": resource}
        ]}))
    });
    let mut client = Client::plain(service([tool]).max_tool_output(100)).await;
    let result = client.call("show", json!({})).await;
    let cut = result["content"][0]["text"].as_str().unwrap();
    assert!(cut.starts_with("xxx") && cut.len() < 300, "{cut}");
    assert_eq!(result["content"][1]["resource"]["text"], json!(cut));
}

/// M108
#[tokio::test]
async fn what_only_looks_like_blocks_is_a_value() {
    for value in [
        json!({"content": []}),
        json!({"content": [{"type": "other"}]}),
        json!({"content": "x"}),
    ] {
        let given = value.clone();
        let tool = Tool::new("show", "", object()).handler(move |_: Value| {
            let value = given.clone();
            async move { Ok::<_, std::fmt::Error>(value) }
        });
        let mut client = Client::plain(service([tool])).await;
        let result = client.call("show", json!({})).await;
        assert_eq!(result["structuredContent"], value);
        assert_eq!(text(&result), value.to_string());
    }
}

/// M109
#[tokio::test]
async fn what_a_handler_reports_is_told_in_its_words() {
    let tool = Tool::new("pay", "", object()).handler(|_: Value| async {
        let declined = ReportedError::new("the card was declined");
        Err::<(), _>(declined.details(json!({"code": 51})))
    });
    let mut client = Client::plain(service([tool])).await;
    let result = client.call("pay", json!({})).await;
    assert_eq!(
        result,
        json!({
            "content": [
                {"type": "text", "text": "the card was declined"},
                {"type": "text", "text": r#"{"code":51}"#}
            ],
            "isError": true
        })
    );
}

/// M110
#[tokio::test]
async fn a_crash_is_told_by_its_kind_and_not_in_its_words() {
    async fn crash(_: Value) -> Result<(), std::fmt::Error> {
        panic!("the password is hunter2")
    }
    let tool = Tool::new("crash", "", object()).handler(crash);
    let mut client = Client::plain(service([tool, echo()])).await;
    let result = client.call("crash", json!({})).await;
    assert_eq!(
        failure(&result),
        json!({"reason": "handler_raised", "message": "the tool `crash` crashed"})
    );
    // And nothing else is broken.
    assert_eq!(
        client.call("echo", json!({"text": "x"})).await["isError"],
        json!(false)
    );
}

/// M110
#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_ended() {
    let hold = Hold::new();
    let mut slow = hold.tool();
    slow.timeout = None;
    let mut client = Client::plain(service([slow]).tool_timeout(Duration::from_secs(3))).await;
    let result = client.call("hold", json!({})).await;
    assert_eq!(failure(&result)["reason"], json!("timeout"));
    hold.was_fired().await;
}

/// M111
#[tokio::test]
async fn arguments_that_do_not_fit_are_told_to_the_model_and_nothing_runs() {
    let ran = Arc::new(Mutex::new(0));
    let count = Arc::clone(&ran);
    let tool = echo().handler(move |_: Value| {
        *count.lock().unwrap() += 1;
        async { Ok::<_, std::fmt::Error>(()) }
    });
    let mut client = Client::plain(service([tool])).await;
    for arguments in [json!({}), json!({"text": 1})] {
        let result = client.call("echo", arguments).await;
        let failure = failure(&result);
        assert_eq!(failure["reason"], json!("invalid_arguments"));
        assert_eq!(failure["faults"][0]["path"], json!("/text"));
    }
    assert_eq!(*ran.lock().unwrap(), 0);
}

/// M111
#[tokio::test]
async fn arguments_may_be_left_out() {
    let tool = Tool::new("nothing", "", object())
        .handler(|value: Value| async move { Ok::<_, std::fmt::Error>(value) });
    let mut client = Client::plain(service([tool])).await;
    let answer = client.ask("tools/call", json!({"name": "nothing"})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({}));
}

/// M112
#[tokio::test]
async fn a_tool_that_is_not_there_is_an_error_of_the_request() {
    let mut client = Client::plain(service([echo()])).await;
    let answer = client
        .ask("tools/call", json!({"name": "nope", "arguments": {}}))
        .await;
    assert_eq!(
        answer["error"],
        json!({"code": -32602, "message": "Unknown tool: nope"})
    );
}

/// M113
#[tokio::test]
async fn progress_is_told_to_who_gave_a_token() {
    let tool =
        Tool::new("work", "", object()).handler(|_: Value, context: ToolContext| async move {
            context.progress(Progress::new(1.0).total(2.0).message("half"));
            // A newer report takes the place of one that nobody has heard yet.
            tokio::time::sleep(Duration::from_millis(20)).await;
            context.progress(Progress::new(2.0).total(2.0));
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok::<_, std::fmt::Error>("done")
        });
    let mut client = Client::plain(service([tool])).await;
    let call = json!({"name": "work", "_meta": {"progressToken": "abc"}});
    let id = client.request("tools/call", call).await;
    for told in [
        json!({"progressToken": "abc", "progress": 1.0, "total": 2.0, "message": "half"}),
        json!({"progressToken": "abc", "progress": 2.0, "total": 2.0}),
    ] {
        let heard = client.hear().await.unwrap();
        assert_eq!(heard["method"], json!("notifications/progress"));
        assert_eq!(heard["params"], told);
    }
    assert_eq!(client.hear().await.unwrap()["id"], json!(id));
    // Nobody else is told: the answer comes first.
    assert_eq!(text(&client.call("work", json!({})).await), "done");
}

/// M114
#[tokio::test]
async fn a_call_has_the_key_that_the_client_gave_or_one_of_its_own() {
    let tool =
        Tool::new("key", "", object()).handler(|_: Value, context: ToolContext| async move {
            Ok::<_, std::fmt::Error>(context.idempotency_key)
        });
    let mut client = Client::plain(service([tool])).await;
    let call = json!({"name": "key", "_meta": {"allm/idempotency-key": "order-7"}});
    let answer = client.ask("tools/call", call).await;
    assert_eq!(text(&answer["result"]), "order-7");
    let first = client.call("key", json!({})).await;
    let second = client.call("key", json!({})).await;
    assert!(!text(&first).is_empty());
    assert_ne!(text(&first), text(&second));
}

/// M115
#[tokio::test]
async fn what_a_tool_ends_a_run_with_is_its_result() {
    let tool = Tool::new("stop", "", object())
        .handler(|_: Value| async { ToolReply::halt("enough", &json!({"total": 3})) });
    let mut client = Client::plain(service([tool])).await;
    let result = client.call("stop", json!({})).await;
    assert_eq!(
        result,
        json!({
            "content": [{"type": "text", "text": r#"{"total":3}"#}],
            "structuredContent": {"total": 3},
            "isError": false
        })
    );
}

/// M116
#[tokio::test]
async fn so_many_calls_run_at_once_and_no_more() {
    let hold = Hold::new();
    let mut client = Client::plain(service([hold.tool()]).max_concurrency(2)).await;
    for _ in 0..6 {
        client.begin("hold").await;
    }
    hold.began().await;
    hold.began().await;
    hold.go.add_permits(6);
    for _ in 0..6 {
        assert_eq!(text(&client.hear().await.unwrap()["result"]), "held");
    }
    assert_eq!(hold.most.load(Ordering::SeqCst), 2);
}

/// M116
#[tokio::test]
async fn more_open_calls_than_there_may_be_are_refused() {
    let hold = Hold::new();
    let service = service([hold.tool()]).max_concurrency(1).max_open_calls(2);
    let mut client = Client::plain(service).await;
    client.begin("hold").await;
    client.begin("hold").await;
    hold.began().await;
    let third = client.begin("hold").await;
    let answer = client.hear().await.unwrap();
    assert_eq!(answer["id"], json!(third));
    assert_eq!(answer["error"]["code"], json!(-32000));
    hold.go.add_permits(2);
    for _ in 0..2 {
        assert_eq!(text(&client.hear().await.unwrap()["result"]), "held");
    }
    hold.go.add_permits(1);
    assert_eq!(text(&client.call("hold", json!({})).await), "held");
}

/// M117
#[tokio::test]
async fn handlers_see_the_value_of_the_service() {
    let tool =
        Tool::new("who", "", object()).handler(|_: Value, context: ToolContext| async move {
            Ok::<_, std::fmt::Error>(context.get::<String>().cloned())
        });
    let mut client = Client::plain(service([tool]).context("Ada".to_owned())).await;
    assert_eq!(text(&client.call("who", json!({})).await), "Ada");
}
