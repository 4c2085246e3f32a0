//! What a model can do: C147 to C152.

mod support;

use allm_core::{
    Capabilities, Effort, File, Image, Message, Part, Passes, Reasoning, Request, ResponseFormat,
    Support, Thread, ToolSpec,
};
use serde_json::json;
use support::told;

fn image() -> Part {
    Part::image(Image::from_url("https://example.com/x.png"))
}

fn with_tool(request: Request) -> Request {
    Request {
        tools: vec![ToolSpec::function("f", "", json!({}))],
        ..request
    }
}

fn with_format(format: ResponseFormat) -> Request {
    Request {
        response_format: Some(format),
        ..Request::new("hi")
    }
}

fn schema() -> ResponseFormat {
    ResponseFormat::json_schema("a", json!({"type": "object"}))
}

/// A request for everything that can be refused.
fn everything() -> Request {
    let thread = Thread::from(vec![
        Message::user([Part::text("look"), image()]),
        Message::assistant("at what?"),
        Message::user([
            image(),
            Part::file(File::from_url("https://example.com/x.pdf")),
        ]),
    ]);
    with_tool(Request {
        response_format: Some(schema()),
        reasoning: Some(Reasoning {
            effort: Some(Effort::Low),
            ..Reasoning::default()
        }),
        max_tokens: Some(1_001),
        ..Request::new(thread)
    })
}

fn nothing() -> Capabilities {
    Capabilities {
        tools: Support::No,
        parallel_tool_calls: Support::No,
        json_schema: Support::No,
        json_object: Support::No,
        tools_with_json_schema: Support::No,
        vision: Support::No,
        files: Support::No,
        reasoning: Support::No,
        prompt_cache: Support::No,
        streaming: Support::No,
        max_input_tokens: Some(1),
        max_output_tokens: Some(1_000),
    }
}

#[test]
fn c147_each_thing_that_the_model_cannot_do_is_a_fault_with_its_path() {
    let capabilities = Capabilities {
        tools: Support::No,
        vision: Support::No,
        ..Capabilities::default()
    };
    assert_eq!(
        told(capabilities.check(&everything(), Passes::One)),
        [
            "unsupported_capability",
            "tools: tools_unsupported",
            "messages[0].content[1]: vision_unsupported",
            "messages[2].content[0]: vision_unsupported",
        ]
    );
}

#[test]
fn c147_all_faults_in_their_order() {
    assert_eq!(
        told(nothing().check(&everything(), Passes::Two)),
        [
            "unsupported_capability",
            "tools: tools_unsupported",
            "response_format: json_schema_unsupported",
            "messages[0].content[1]: vision_unsupported",
            "messages[2].content[0]: vision_unsupported",
            "messages[2].content[1]: files_unsupported",
            "reasoning: reasoning_unsupported",
            "max_tokens: exceeds_model_limit",
        ]
    );
    assert_eq!(nothing().check(&Request::new("hi"), Passes::One), Ok(()));
}

#[test]
fn c148_unknown_refuses_nothing() {
    let unknown = Capabilities::default();
    assert_eq!(unknown.check(&everything(), Passes::One), Ok(()));
    assert!(!unknown.needs_finalize_pass(&everything()));
}

#[test]
fn c149_the_catalog_overrides_the_table_per_field() {
    let table = nothing();
    let catalog = Capabilities {
        vision: Support::Yes,
        max_output_tokens: Some(5_000),
        ..Capabilities::default()
    };
    assert_eq!(
        catalog.merged_over(&table),
        Capabilities {
            vision: Support::Yes,
            max_output_tokens: Some(5_000),
            ..nothing()
        }
    );
    assert_eq!(Capabilities::default().merged_over(&table), table);
    assert_eq!(table.merged_over(&catalog), table);
}

#[test]
fn c149_a_catalog_is_data() {
    let catalog = Capabilities {
        vision: Support::No,
        tools: Support::Yes,
        max_input_tokens: Some(5),
        ..Capabilities::default()
    };
    let written = serde_json::to_value(catalog).unwrap();
    assert_eq!(
        written,
        json!({"tools": "yes", "vision": "no", "max_input_tokens": 5})
    );
    assert_eq!(
        serde_json::from_value::<Capabilities>(written).unwrap(),
        catalog
    );
    assert!(serde_json::from_value::<Capabilities>(json!({"sight": "no"})).is_err());
}

#[test]
fn c150_json_object_does_not_need_json_schema() {
    let capabilities = Capabilities {
        json_schema: Support::No,
        ..Capabilities::default()
    };
    let object = with_format(ResponseFormat::JsonObject);
    assert_eq!(capabilities.check(&object, Passes::One), Ok(()));
    assert_eq!(
        told(nothing().check(&object, Passes::One)),
        [
            "unsupported_capability",
            "response_format: json_object_unsupported"
        ]
    );
    assert_eq!(
        nothing().check(&with_format(ResponseFormat::Text), Passes::One),
        Ok(())
    );
}

#[test]
fn c151_tools_with_a_schema_need_a_second_pass() {
    let capabilities = Capabilities {
        tools_with_json_schema: Support::No,
        ..Capabilities::default()
    };
    let both = with_tool(with_format(schema()));
    assert_eq!(
        told(capabilities.check(&both, Passes::One)),
        [
            "unsupported_capability",
            "response_format: needs_finalize_pass"
        ]
    );
    assert_eq!(capabilities.check(&both, Passes::Two), Ok(()));
    assert!(capabilities.needs_finalize_pass(&both));

    for one in [
        with_tool(Request::new("hi")),
        with_format(schema()),
        with_tool(with_format(ResponseFormat::JsonObject)),
    ] {
        assert_eq!(capabilities.check(&one, Passes::One), Ok(()));
        assert!(!capabilities.needs_finalize_pass(&one));
    }
}

#[test]
fn c152_max_tokens_above_the_limit_of_the_model() {
    let with_max = |max_tokens| Request {
        max_tokens: Some(max_tokens),
        ..Request::new("hi")
    };
    let limited = Capabilities {
        max_output_tokens: Some(1_000),
        ..Capabilities::default()
    };
    assert_eq!(limited.check(&with_max(1_000), Passes::One), Ok(()));
    assert_eq!(
        told(limited.check(&with_max(1_001), Passes::One)),
        ["unsupported_capability", "max_tokens: exceeds_model_limit"]
    );
    let unknown = Capabilities::default();
    assert_eq!(unknown.check(&with_max(u32::MAX), Passes::One), Ok(()));
}
