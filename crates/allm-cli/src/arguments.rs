//! What the program is asked on the command line.

mod mcp;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use mcp::{Mcp, McpApprovals, McpCommand, McpServe};

#[cfg(feature = "local")]
const MORE: &str = "\
Examples:
  allm chat --with calculator,date
  allm run \"What is 17 times 23?\" --with calculator
  git diff | allm run --model openai:gpt-4.1-mini \"Write a commit message\"
  allm chat --resume              goes on with the last conversation
  allm doctor                     says what is missing here

Without a key and a configuration the embedded model answers: nothing leaves this machine.";
#[cfg(not(feature = "local"))]
const MORE: &str = "\
Examples:
  allm chat --with calculator,date
  git diff | allm run --model openai:gpt-4.1-mini \"Write a commit message\"
  allm chat --resume              goes on with the last conversation
  allm doctor                     says what is missing here

Which model answers: --model, the configuration, ALLM_MODEL, or the first key in the environment; `allm models` tells.";

/// Talk to a language model that calls tools, asks back, stops for approval and remembers.
#[derive(Debug, Parser)]
#[command(
    name = "allm",
    version,
    about,
    after_help = MORE,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// Read this configuration, instead of ./allm.toml (which must be trusted) and the user's own
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Trust the allm.toml of this folder, as it is now, from now on
    #[arg(long, global = true)]
    pub(crate) trust: bool,
    /// Keep sessions in this SQLite file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
}

/// What is asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Hold a conversation in the terminal
    Chat(Chat),
    /// Ask once, for scripts and pipes
    Run(Run),
    /// Look at stored conversations and decide what they wait for
    Sessions(Sessions),
    /// Play a stored conversation again, step by step, and check its hashes
    Replay(Replay),
    /// See providers, keys and local models; fetch a local model
    Models(Models),
    /// Use tools of MCP servers, and serve tools to MCP clients
    Mcp(Mcp),
    /// Say what works here and what is missing
    #[command(after_help = "\
Examples:
  allm doctor
  allm doctor --config other.toml                 as if that were the configuration
  allm doctor || echo \"something is missing\"     it ends with 1 then")]
    Doctor,
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page
    Man(Man),
}

/// Who is asked, with which tools.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Asking {
    /// The model, as provider:model; else the conversation's own, that of the configuration, or ALLM_MODEL
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What the model is told first
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Read more tools from the *.toml files of this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<PathBuf>,
    /// Switch on a built-in tool: read_file, list_directory, http_get, shell, date, calculator
    #[arg(long = "with", value_name = "TOOL", value_delimiter = ',')]
    pub(crate) with: Vec<String>,
    /// Offer no tools at all
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// How many turns a run may take
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,
    /// How many tokens an answer may have
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u32>,
    /// 0 to 2
    #[arg(long, value_name = "T")]
    pub(crate) temperature: Option<f64>,
    /// For answers that can be had again
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<i64>,
}

/// `allm chat`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  allm chat
  allm chat --model anthropic:claude-sonnet-4-5 --with shell
  allm chat --resume              goes on with the last conversation")]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) asking: Asking,
    /// Go on with a stored conversation; the last one without an id
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    /// What is said first
    pub(crate) prompt: Option<String>,
}

/// `allm run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  allm run \"What is 17 times 23?\" --with calculator
  git diff | allm run \"Write a commit message\"
  allm run -a photo.png \"What is this?\"
  allm run --schema person.json < letter.txt
  allm run --json \"Delete the old logs\" --with shell --yes

Without --session nothing is kept, unless the run has to wait for a person.
With --schema and tools the tools are called first, and then the answer is brought into its form.
Events of --events are those of the library, one JSON object a line.

--json prints one object, whose keys are always there (null where unknown):
  text           what the model said last
  parsed         the answer as a value, with --schema
  model          who was asked
  halted_reason  completed, or what else stopped the run
  session        the id of the session, if it is kept
  usage, cost    tokens, and USD
  tool_calls     name, arguments, result and is_error of each call
  waiting        what waits for a person: for, call, tool, approval, arguments, question
  error          why there is no final answer

Exit codes:
  0  there is a final answer
  1  the model, a tool or the machine failed
  2  it was asked in a wrong way
  3  it waits for a person; the session is kept, and its id is told
  4  there is no final answer: a limit, a refusal, an answer that does not fit
  130  interrupted")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) asking: Asking,
    /// Attach a file: text, a picture, a PDF
    #[arg(short = 'a', long = "attach", value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// The answer must fit this JSON Schema
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, conflicts_with = "events")]
    pub(crate) json: bool,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(crate) events: bool,
    /// Approve every call that asks for it
    #[arg(long)]
    pub(crate) yes: bool,
    /// Keep the conversation under this id, or go on with it
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// What is asked; what comes on standard input is put after it
    pub(crate) prompt: Option<String>,
}

/// `allm sessions`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  allm sessions list --waiting
  allm sessions show                              the last one
  allm sessions show 2026-11-16-abcd --format html > page.html
  allm sessions approve 2026-11-16-abcd --resume
  allm sessions deny 2026-11-16-abcd --call t1.c0 --reason \"not on a Friday\" --resume
  allm sessions answer 2026-11-16-abcd \"the blue one\" --resume
  allm sessions submit 2026-11-16-abcd t1.c0 '{\"paid\": true}' --resume
  allm sessions rerun 2026-11-16-abcd t1.c0 --resume
  allm sessions export 2026-11-16-abcd -o session.json
  allm sessions import session.json --as copy"
)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

/// What is asked about stored sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List them, the newest first
    List {
        /// Only those with this status
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
        /// Only those that wait for a person
        #[arg(long)]
        waiting: bool,
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
        limit: usize,
        /// As lines of JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one as a transcript
    Show {
        /// Its id; the last one without it
        id: Option<String>,
        /// In which form
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Answer the question that one waits for
    Answer {
        /// Its id
        id: String,
        /// The answer
        #[arg(allow_negative_numbers = true)]
        text: String,
        /// The call that asks; needed where there are several
        #[arg(long, value_name = "CALL")]
        call: Option<String>,
        /// And go on with the run
        #[arg(long)]
        resume: bool,
        #[command(flatten)]
        asking: Box<Asking>,
    },
    /// Agree to a call that one waits for
    Approve {
        /// Its id
        id: String,
        /// The approval; needed where there are several
        #[arg(long, value_name = "APPROVAL")]
        call: Option<String>,
        /// Other arguments, as JSON
        #[arg(long, value_name = "JSON")]
        arguments: Option<String>,
        /// And go on with the run
        #[arg(long)]
        resume: bool,
        #[command(flatten)]
        asking: Box<Asking>,
    },
    /// Refuse a call that one waits for
    Deny {
        /// Its id
        id: String,
        /// The approval; needed where there are several
        #[arg(long, value_name = "APPROVAL")]
        call: Option<String>,
        /// Why; the model is told
        #[arg(long, default_value = "", value_name = "TEXT")]
        reason: String,
        /// And go on with the run
        #[arg(long)]
        resume: bool,
        #[command(flatten)]
        asking: Box<Asking>,
    },
    /// Give the result of a call that one waits for: of a manual tool, or one that nobody knows the end of
    Submit {
        /// Its id
        id: String,
        /// The call, as `allm sessions list --json` names it
        call: String,
        /// The result, as text or JSON
        #[arg(allow_negative_numbers = true)]
        result: String,
        /// It is no result: the call failed, and this is why
        #[arg(long)]
        failed: bool,
        /// And go on with the run
        #[arg(long)]
        resume: bool,
        #[command(flatten)]
        asking: Box<Asking>,
    },
    /// Run a call again that was running when its program died, because it did not happen
    Rerun {
        /// Its id
        id: String,
        /// The call; needed where there are several
        call: Option<String>,
        /// And go on with the run
        #[arg(long)]
        resume: bool,
        #[command(flatten)]
        asking: Box<Asking>,
    },
    /// Go on with a run that was left
    Resume {
        /// Its id
        id: String,
        #[command(flatten)]
        asking: Box<Asking>,
    },
    /// Write one to a file, with its journal
    Export {
        /// Its id
        id: String,
        /// The file; standard output without it
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Read one from a file
    Import {
        /// The file; - is standard input
        file: PathBuf,
        /// Under another id
        #[arg(long = "as", value_name = "ID")]
        id: Option<String>,
    },
    /// Delete them
    Delete {
        /// Their ids
        #[arg(required = true)]
        ids: Vec<String>,
        /// Also those that are being driven
        #[arg(long)]
        force: bool,
        /// Do not ask at a terminal
        #[arg(short, long)]
        yes: bool,
    },
}

/// How a session is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// A page for a browser
    Html,
    /// For documents
    Markdown,
}

/// `allm replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  allm replay 2026-11-16-abcd
  allm replay 2026-11-16-abcd --step              Enter goes on, q leaves
  allm replay 2026-11-16-abcd --to 12 --json

Nothing is asked and nothing is run: the journal alone leads from state to state, and each hash is compared.
It ends with 1 at the first entry that does not lead where it says.")]
pub(crate) struct Replay {
    /// The session's id
    pub(crate) id: String,
    /// Wait for Enter after each step
    #[arg(long)]
    pub(crate) step: bool,
    /// Only to this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<u64>,
    /// As lines of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `allm models`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  allm models
  allm models pull                fetches the embedded model")]
pub(crate) struct Models {
    #[command(subcommand)]
    pub(crate) command: Option<ModelsCommand>,
}

/// What is asked about models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List providers, keys found and local models
    List,
    /// Fetch a local model: a known name, a file or a URL; the default one without it
    Pull {
        /// What to fetch
        model: Option<String>,
        /// What it is called here
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// What its SHA-256 must be
        #[arg(long, value_name = "HEX")]
        sha256: Option<String>,
    },
    /// Delete a local model
    Remove {
        /// Its name
        name: String,
    },
}

/// `allm completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  allm completions bash > ~/.local/share/bash-completion/completions/allm
  allm completions zsh > ~/.zfunc/_allm
  allm completions fish > ~/.config/fish/completions/allm.fish")]
pub(crate) struct Completions {
    /// bash, zsh, fish, elvish or powershell
    pub(crate) shell: String,
}

/// `allm man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  allm man | man -l -
  allm man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write one page for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
