//! The examples say what their files in `examples/expected` say.

use std::path::Path;
use std::process::Command;

/// M1, M7, M40, M45, M63: as the examples show them.
#[test]
fn examples_say_what_is_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let this = std::env::current_exe().unwrap();
    let programs = this
        .parent()
        .and_then(Path::parent)
        .unwrap()
        .join("examples");
    for example in ["01_a_server", "02_a_question", "03_several_servers"] {
        let program = programs.join(example);
        assert!(
            program.exists(),
            "build it: cargo build -p allm-mcp --examples"
        );
        let output = Command::new(program).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let aside = String::from_utf8_lossy(&output.stderr);
        let expected = folder.join("expected").join(format!("{example}.txt"));
        let expected = std::fs::read_to_string(expected).unwrap();
        assert_eq!(said, expected, "{example}: {aside}");
    }
}
