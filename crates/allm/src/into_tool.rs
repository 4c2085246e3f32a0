//! What can be given where a tool is wanted.

use allm_core::Tool;

/// What can be given where a tool is wanted: a [`Tool`], or a function that makes one, as [`#[tool]`](macro@crate::tool)
/// leaves behind.
///
/// `M` only tells the two apart; it is always inferred.
///
/// ```
/// use allm::{IntoTool, tool};
///
/// /// Adds two numbers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> Result<i64, String> {
///     a.checked_add(b).ok_or_else(|| "too large".to_owned())
/// }
///
/// fn names<M>(tool: impl IntoTool<M>) -> String {
///     tool.into_tool().name.to_string()
/// }
///
/// assert_eq!(names(add), "add");
/// assert_eq!(names(add().manual()), "add");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "give a `Tool`, or the name of a function with `#[tool]`"
)]
pub trait IntoTool<M> {
    /// The tool.
    fn into_tool(self) -> Tool;
}

/// Marks a [`Tool`] itself.
#[derive(Debug)]
pub struct Itself;

/// Marks functions that make a [`Tool`].
#[derive(Debug)]
pub struct Maker;

impl IntoTool<Itself> for Tool {
    fn into_tool(self) -> Tool {
        self
    }
}

impl<F: FnOnce() -> Tool> IntoTool<Maker> for F {
    fn into_tool(self) -> Tool {
        self()
    }
}
