//! Messages, their parts and their calls.

use allm_core::{
    Detail, File, FilePart, FinishReason, Image, ImagePart, Message, Messages, Opaque, Origin,
    Part, ReasoningKind, ReasoningPart, RefusalPart, Role, Source, TextPart, Thread, ToolCall,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::text::{any_map, any_raw_json, any_text, maybe_named, maybe_text, named};

/// What only its provider understands.
pub(crate) fn any_opaque() -> BoxedStrategy<Opaque> {
    (named(), any_text(), any_text(), any_raw_json())
        .prop_map(|(provider, wire, kind, data)| Opaque {
            provider,
            wire,
            kind,
            data,
        })
        .boxed()
}

fn boxed_opaque() -> BoxedStrategy<Option<Box<Opaque>>> {
    of(any_opaque().prop_map(Box::new)).boxed()
}

fn any_source() -> BoxedStrategy<Source> {
    prop_oneof![
        vec(any::<u8>(), 0..5).prop_map(|bytes| Source::Bytes(bytes.into())),
        any_text().prop_map(Source::Base64),
        any_text().prop_map(Source::Url),
        (named(), any_text()).prop_map(|(provider, id)| Source::Provider { provider, id }),
    ]
    .boxed()
}

fn any_image() -> impl Strategy<Value = Image> {
    (
        any_source(),
        maybe_text(),
        any::<Option<u32>>(),
        any::<Option<u32>>(),
        any_map(),
    )
        .prop_map(|(source, mime_type, width, height, metadata)| Image {
            source,
            mime_type,
            width,
            height,
            metadata,
        })
}

fn any_file() -> impl Strategy<Value = File> {
    (any_source(), maybe_text(), any_map()).prop_map(|(source, mime_type, metadata)| File {
        source,
        mime_type,
        metadata,
    })
}

pub(super) fn any_part() -> BoxedStrategy<Part> {
    let detail = select(vec![Detail::Auto, Detail::Low, Detail::High]);
    let kind = select(vec![
        ReasoningKind::Raw,
        ReasoningKind::Summary,
        ReasoningKind::Redacted,
    ]);
    prop_oneof![
        2 => any_text().prop_map(Part::text),
        1 => (any_text(), boxed_opaque())
            .prop_map(|(text, opaque)| Part::Text(TextPart { text, opaque })),
        1 => (any_image(), detail).prop_map(|(image, detail)| Part::Image(ImagePart { image: image.into(), detail })),
        1 => (any_file(), maybe_text()).prop_map(|(file, name)| Part::File(FilePart { file: file.into(), name })),
        1 => (maybe_text(), kind, boxed_opaque())
            .prop_map(|(text, kind, opaque)| Part::Reasoning(ReasoningPart { text, kind, opaque })),
        1 => any_text().prop_map(|text| Part::Refusal(RefusalPart { text })),
        1 => any_opaque().prop_map(Part::opaque),
    ]
    .boxed()
}

/// Calls as providers send them, malformed and cut off too, and calls whose fields are set by hand.
pub(crate) fn any_call() -> BoxedStrategy<ToolCall> {
    let odd = vec![
        "",
        " \n",
        "null",
        "{}",
        r#"{"a": 1.0}"#,
        "[1]",
        "3",
        r#"{"a":"#,
        r#"{"a":1,"a":2}"#,
        "nul",
    ];
    let arguments = prop_oneof![select(odd).prop_map(str::to_owned), any_text()];
    let sent = (any_text(), any_text(), arguments.clone())
        .prop_map(|(id, name, arguments)| ToolCall::new(id, name, arguments));
    let cut = (any_text(), any_text(), arguments)
        .prop_map(|(id, name, arguments)| ToolCall::cut_off(id, name, arguments));
    let bare = prop_oneof![3 => sent, 1 => cut];
    let attached = (
        maybe_text(),
        of(any_map()),
        any::<Option<u32>>(),
        of(any_opaque()),
        any_map(),
    );
    let set =
        (bare.clone(), attached).prop_map(|(call, (wire_id, arguments, at, opaque, metadata))| {
            ToolCall {
                wire_id: wire_id.map(Into::into),
                arguments: arguments.map(Into::into),
                at,
                opaque: opaque.map(Box::new),
                metadata,
                ..call
            }
        });
    prop_oneof![bare, set].boxed()
}

pub(super) fn any_finish() -> impl Strategy<Value = Option<FinishReason>> {
    of(select(vec![
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ToolCalls,
        FinishReason::ContentFilter,
        FinishReason::Error,
        FinishReason::Other,
    ]))
}

fn any_origin() -> impl Strategy<Value = Origin> {
    (named(), any_text(), maybe_text(), maybe_named()).prop_map(
        |(provider, wire, model, response_id)| Origin {
            provider,
            wire,
            model,
            response_id,
        },
    )
}

/// Any message, valid or not.
pub(crate) fn any_message() -> BoxedStrategy<Message> {
    let role = select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let simple = (role.clone(), any_text()).prop_map(|(role, text)| Message::new(role, text));
    let content = (
        role,
        vec(any_part(), 0..3),
        vec(any_call(), 0..2),
        maybe_named(),
        any::<bool>(),
    );
    let rest = (maybe_text(), any_finish(), of(any_origin()), any_map());
    let full = (content, rest).prop_map(
        |(
            (role, content, tool_calls, tool_call_id, is_error),
            (name, finish_reason, origin, metadata),
        )| Message {
            role,
            content,
            tool_calls,
            tool_call_id,
            is_error,
            name,
            finish_reason,
            origin: origin.map(Into::into),
            metadata,
        },
    );
    prop_oneof![simple, full].boxed()
}

/// A few messages.
pub(crate) fn any_messages() -> BoxedStrategy<Messages> {
    vec(any_message(), 0..3).prop_map(Messages::from).boxed()
}

/// Any conversation, valid or not.
pub(crate) fn any_thread() -> BoxedStrategy<Thread> {
    (any_messages(), any_map())
        .prop_map(|(messages, metadata)| Thread { messages, metadata })
        .boxed()
}
