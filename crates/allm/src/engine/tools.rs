//! The tools of each level, merged by name.

use allm_core::{FunctionSpec, Tool, ToolSpec};

/// What one level says of the tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolList {
    rule: ToolRule,
    entries: Vec<Entry>,
}

/// How the list meets that of the lower level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ToolRule {
    /// An equal name replaces in place, a new name is appended.
    #[default]
    Merge,
    /// This list and no other.
    Only,
}

#[derive(Clone, Debug)]
enum Entry {
    Tool(Box<Tool>),
    /// What a request says of a tool: it has no handler of its own.
    Spec(Box<ToolSpec>),
}

impl Entry {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) => Some(tool.name.as_str()),
            Self::Spec(spec) => spec.name().map(allm_core::ToolName::as_str),
        }
    }

    /// This entry in the place of a lower one: a spec changes what the model is told, the handler stays.
    fn over(self, lower: Option<Self>) -> Self {
        match (self, lower) {
            (Self::Spec(spec), Some(Self::Tool(mut tool))) => match *spec {
                ToolSpec::Function(function) => {
                    tool.description = function.description;
                    tool.schema = function.schema;
                    tool.strict = function.strict;
                    Self::Tool(tool)
                }
                spec => Self::Spec(Box::new(spec)),
            },
            (entry, _) => entry,
        }
    }
}

impl ToolList {
    pub(crate) fn push(&mut self, tool: Tool) {
        self.entries.push(Entry::Tool(Box::new(tool)));
    }

    pub(crate) fn push_spec(&mut self, spec: ToolSpec) {
        self.entries.push(Entry::Spec(Box::new(spec)));
    }

    pub(crate) fn only(&mut self, tools: impl IntoIterator<Item = Tool>) {
        self.rule = ToolRule::Only;
        self.entries = tools.into_iter().map(Box::new).map(Entry::Tool).collect();
    }

    pub(crate) fn of_specs(specs: &[ToolSpec]) -> Self {
        Self {
            rule: ToolRule::Merge,
            entries: specs
                .iter()
                .cloned()
                .map(Box::new)
                .map(Entry::Spec)
                .collect(),
        }
    }

    /// Whether it leaves the list of the lower level as it is.
    pub(crate) fn changes_nothing(&self) -> bool {
        self.rule == ToolRule::Merge && self.entries.is_empty()
    }

    pub(crate) fn over(&self, lower: &Self) -> Self {
        if self.rule == ToolRule::Only {
            return self.clone();
        }
        let mut merged = lower.clone();
        for (index, entry) in self.entries.iter().enumerate() {
            let same = |other: &Entry| other.name().is_some() && other.name() == entry.name();
            let place = lower.entries.iter().position(same);
            // A name that comes twice at one level stays twice, so that the check of the list finds it.
            let again = self.entries.iter().take(index).any(same);
            match place.and_then(|place| merged.entries.get_mut(place)) {
                Some(place) if !again => *place = entry.clone().over(Some(place.clone())),
                _ => merged.entries.push(entry.clone()),
            }
        }
        merged
    }

    /// The tools, and the specs of those built into a provider.
    pub(crate) fn split(&self) -> (Vec<Tool>, Vec<ToolSpec>) {
        let mut tools = Vec::new();
        let mut built_in = Vec::new();
        for entry in &self.entries {
            match entry {
                Entry::Tool(tool) => tools.push((**tool).clone()),
                Entry::Spec(spec) => match &**spec {
                    ToolSpec::Function(function) => {
                        let FunctionSpec {
                            name,
                            description,
                            schema,
                            strict,
                        } = function.clone();
                        tools.push(Tool::new(name, description, schema).strict(strict));
                    }
                    spec => built_in.push(spec.clone()),
                },
            }
        }
        (tools, built_in)
    }
}
