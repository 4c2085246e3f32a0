//! What servers log.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::support::*;

/// Keeps events, one line each.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

impl Kept {
    async fn wait_for(&self, line: &str) {
        let found = async {
            while !self.0.lock().unwrap().iter().any(|kept| kept == line) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let found = tokio::time::timeout(LONG, found).await;
        assert!(found.is_ok(), "{:?}", self.0.lock().unwrap());
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl<S: tracing::Subscriber> Layer<S> for Kept {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let about = event.metadata();
        if about.target().starts_with("allm_mcp::") && !about.target().contains("client") {
            let mut line = Line(format!("{} {}", about.level(), about.target()));
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
    }
}

/// M30: what a server logs, and what it says aside, goes to the log.
#[tokio::test]
async fn m30_logs() {
    let kept = Kept::default();
    let subscriber = tracing_subscriber::registry().with(kept.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let server = connected("plain").await;
    call(&server, "log", nothing()).await.unwrap();
    kept.wait_for(r#"WARN allm_mcp::log message=nearly full server="plain" logger="disk""#)
        .await;
    kept.wait_for(r#"DEBUG allm_mcp::stderr message=said aside server="plain""#)
        .await;
}
