//! A model in memory, with all that it needs to answer.

use std::path::Path;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::caches::Caches;
use super::decision::Neutral;
use super::{Counters, Job, Settings, Update};
use crate::error::{ModelError, ModelErrorKind};
use crate::gguf::Gguf;
use crate::grammar::Grammars;
use crate::model::Llama;
use crate::prompt::CallStyle;
use crate::template::Template;
use crate::tokenizer::Tokenizer;

/// A model in memory.
pub(super) struct Loaded {
    pub(super) model: Llama,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) template: Template,
    pub(super) style: CallStyle,
    pub(super) grammars: Arc<Grammars>,
    pub(super) caches: Caches,
    pub(super) neutral: Option<Neutral>,
    /// Tokens that never stand in an answer.
    pub(super) unspoken: Vec<u32>,
    pub(super) max_tokens: u32,
    pool: Arc<ThreadPool>,
}

const TEMPLATE: &str = "tokenizer.chat_template";

impl Loaded {
    pub(super) fn load(path: &Path, settings: &Settings) -> Result<Self, ModelError> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(settings.threads.get())
            .thread_name(|_| "allm-local".to_owned())
            .build()
            .map_err(|error| {
                ModelError::new(ModelErrorKind::Io, "no threads for the model").because(error)
            })?;
        let pool = Arc::new(pool);
        let loaded = pool.install(|| Self::load_here(path, settings, &pool));
        loaded.map_err(|error| error.about(path))
    }

    fn load_here(
        path: &Path,
        settings: &Settings,
        pool: &Arc<ThreadPool>,
    ) -> Result<Self, ModelError> {
        let mut file = Gguf::open(path)?;
        let template = file.text(TEMPLATE).ok_or_else(|| {
            let message = "the model's file has no chat template: it is not made for conversations";
            ModelError::new(ModelErrorKind::Unsupported, message)
        })?;
        let template = Template::new(template)?;
        let tokenizer = Arc::new(Tokenizer::read(&file)?);
        let model = Llama::load(&mut file)?;
        if model.vocabulary() < tokenizer.len() {
            let message = "the model has fewer scores than its tokenizer has tokens";
            return Err(ModelError::new(ModelErrorKind::Damaged, message));
        }
        let grammars = Grammars::new(&tokenizer)
            .map_err(|error| ModelError::new(ModelErrorKind::Unsupported, error))?;
        let tokens = (0..).take(model.vocabulary());
        let is_unspoken =
            |token: &u32| tokenizer.is_mark(*token) && !tokenizer.ends().contains(token);
        Ok(Self {
            unspoken: tokens.filter(is_unspoken).collect(),
            style: CallStyle::of(&template),
            neutral: None,
            caches: Caches::new(settings.conversations),
            max_tokens: settings.max_tokens,
            pool: Arc::clone(pool),
            grammars: Arc::new(grammars),
            model,
            tokenizer,
            template,
        })
    }

    /// Answers a request, as far as it is wanted, and gives back how it ended.
    pub(super) fn answer(&mut self, job: &Job, counters: &Counters) -> Option<Update> {
        let pool = Arc::clone(&self.pool);
        pool.install(|| super::answer::answer(self, job, counters))
    }
}
