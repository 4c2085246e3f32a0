//! What a command sees of the environment.

use std::ffi::OsString;

use allm::ProcessTool;

/// What programs cannot do well without. Keys are not among them: a tool gets one only where the file says so.
const PASSED: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
];

/// With the variables that every command gets, and these others, as far as they are set here.
pub(super) fn passed<'a>(
    mut tool: ProcessTool,
    more: impl IntoIterator<Item = &'a str>,
) -> ProcessTool {
    for name in PASSED.into_iter().chain(more) {
        if let Some(value) = std::env::var_os(name) {
            tool = tool.env(OsString::from(name), value);
        }
    }
    tool
}
