//! The kit for adapters.

use allm_conformance::CannotExpress;
use allm_conformance::adapter::{self, AdapterSubject, Prepared, Scenario, Traffic};
use allm_core::{Message, Request};
use allm_local::Local;

use crate::folders::TestFolder;
use crate::play::{ask, call, request};
use crate::tiny::{END, GO, Tiny};

/// The provider, with a model that says what the scenario wants.
struct Scripted(TestFolder);

/// `Hello, wörld 🌍!` in ten tokens.
const TEXT: [&[u8]; 10] = [
    b"Hel", b"lo, w", b"\xc3", b"\xb6", b"rld ", b"\xf0", b"\x9f", b"\x8c", b"\x8d", b"!",
];

/// A prompt of 20 tokens, whatever the kit asks.
const TWENTY: &str = "{{ messages[0].content[:19] }}<|go|>";

fn city(pieces: &[&str]) -> Tiny {
    let mut tiny = Tiny::new().after(GO, "{").after("{", "\"");
    let mut last = "\"";
    for piece in pieces {
        tiny = tiny.after(last, piece);
        last = piece;
    }
    tiny.after(last, "\"")
}

impl AdapterSubject for Scripted {
    fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
        let model = match scenario {
            Scenario::Text | Scenario::TextInPieces => Tiny::new().says(&TEXT),
            Scenario::Usage => Tiny::new().template(TWENTY).says(&TEXT),
            Scenario::Empty => Tiny::new().after(GO, END),
            Scenario::OneCall => city(&["Boston"]),
            Scenario::CallInPieces | Scenario::LengthInCall => city(&["Bo", "st", "on"]),
            Scenario::Length => Tiny::new().says(&[b"Hel", b"lo"]),
            Scenario::MalformedCall => {
                return Err(CannotExpress::because("calls are always whole"));
            }
            Scenario::ParallelCalls => {
                return Err(CannotExpress::because(
                    "the second call does not fit its schema",
                ));
            }
            Scenario::TextAroundCall => {
                return Err(CannotExpress::because("an answer is text or calls"));
            }
            Scenario::Reasoning | Scenario::Refusal => {
                return Err(CannotExpress::because("there is no such thing here"));
            }
            _ => return Err(CannotExpress::because("there is no server")),
        };
        let path = model.write(&self.0.path().join(format!("{}.gguf", scenario.name())));
        let local = match scenario {
            Scenario::Length => Local::new().max_tokens(1),
            // For the shortest call two more would be needed.
            Scenario::LengthInCall => Local::new().max_tokens(38),
            _ => Local::new(),
        };
        if scenario == Scenario::Usage {
            // Something that begins with the same five tokens.
            let call = call(
                &path,
                request(vec![Message::user("PleasXXXXXXXXXXXXXXXXXXXXXX")]),
            );
            let local = local.clone();
            let warmed = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build();
                runtime.unwrap().block_on(ask(&local, call))
            });
            assert_eq!(warmed.join().unwrap().error, None);
        }
        let seen = local.clone();
        let before = usize::try_from(local.activity().begun).unwrap();
        Ok(Prepared::new(local)
            .model(path.to_str().unwrap())
            .traffic(move || {
                let activity = seen.activity();
                Traffic {
                    opened: usize::try_from(activity.begun).unwrap() - before,
                    open: usize::try_from(activity.running).unwrap(),
                }
            }))
    }
}

/// P238
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p238_keeps_every_rule_for_adapters() {
    let report = adapter::check(&Scripted(TestFolder::new())).await;
    println!("{report}");
    report.assert();
}

/// P238: the kit's own request, so that the scenarios are really those.
#[tokio::test]
async fn p238_counts_what_was_read_and_written() {
    let folder = TestFolder::new();
    let path = Tiny::new()
        .template(TWENTY)
        .says(&TEXT)
        .write(&folder.path().join("m.gguf"));
    let local = Local::new();
    let asked = || call(&path, Request::new("Please do as the scenario says."));
    let usage = |read, written, cached| allm_core::Usage {
        cached_input_tokens: Some(cached),
        ..allm_core::Usage::io(read, written)
    };
    assert_eq!(ask(&local, asked()).await.usage, usage(20, 10, 0));
    assert_eq!(ask(&local, asked()).await.usage, usage(20, 10, 19));
}
