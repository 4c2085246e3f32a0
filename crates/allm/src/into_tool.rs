//! stub
#![allow(missing_docs)]
pub trait IntoTool<M> {
    fn into_tool(self) -> allm_core::Tool;
}
impl IntoTool<()> for allm_core::Tool {
    fn into_tool(self) -> allm_core::Tool {
        self
    }
}
