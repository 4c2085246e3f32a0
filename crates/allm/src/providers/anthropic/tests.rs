use allm_core::{KeyUse, Support};

use super::*;

#[test]
fn p88_versions_and_betas() {
    let plain = Anthropic::new();
    let version = ("anthropic-version", VERSION.to_owned());
    assert_eq!(plain.headers(), [version]);
    let own = Anthropic::new().beta("a").beta("b").version("2030-01-01");
    assert_eq!(
        own.headers(),
        [
            ("anthropic-version", "2030-01-01".to_owned()),
            ("anthropic-beta", "a,b".to_owned())
        ]
    );
}

#[test]
fn what_an_engine_asks() {
    let anthropic = Anthropic::default();
    assert_eq!(anthropic.provider().as_str(), "anthropic");
    assert_eq!(anthropic.key_use(), KeyUse::Required);
    assert!(Adapter::key_source(&anthropic).is_none());
    assert_eq!(
        anthropic.server(),
        Some(allm_core::Server::new("api.anthropic.com", Some(443)))
    );
    assert_eq!(anthropic.check_config(), Ok(()));
    assert_eq!(
        anthropic.capabilities("claude-sonnet-4-5").reasoning,
        Support::Yes
    );
    let named = Anthropic::new().named("second").api_key("sk-secret-key");
    assert_eq!(named.provider().as_str(), "second");
    assert!(Adapter::key_source(&named).is_some());
    assert!(!format!("{named:?}").contains("secret"));
}

#[test]
fn a_beta_that_cannot_be_sent() {
    for wrong in [
        Anthropic::new().beta("a\nb"),
        Anthropic::new().version("\u{1}"),
        Anthropic::new().base_url("nowhere"),
    ] {
        let error = wrong.check_config().expect_err("refused");
        assert_eq!(error.reason, EngineReason::InvalidConfig);
        assert_eq!(error.provider, Some("anthropic".into()));
    }
}
