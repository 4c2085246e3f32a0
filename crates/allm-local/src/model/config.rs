//! The shape of a model, as its file tells it.

use crate::error::{ModelError, ModelErrorKind};
use crate::gguf::Gguf;

/// The shape of a model of the Llama family.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) heads: usize,
    /// Heads of keys and values: each serves several heads of queries.
    pub(crate) kv_heads: usize,
    pub(crate) head_width: usize,
    /// How much of a head is turned by its position.
    pub(crate) rope_width: usize,
    pub(crate) rope_base: f32,
    pub(crate) epsilon: f32,
    pub(crate) context: usize,
}

const ARCHITECTURE: &str = "general.architecture";

impl Config {
    pub(crate) fn read(file: &Gguf) -> Result<Self, ModelError> {
        let architecture = file.needed(ARCHITECTURE, file.text(ARCHITECTURE))?;
        if architecture != "llama" {
            let message = format!(
                "the model's architecture is `{architecture}`; only the Llama family (`llama`) runs in the process"
            );
            return Err(ModelError::new(ModelErrorKind::Unsupported, message));
        }
        if file
            .count("llama.expert_count")
            .is_some_and(|count| count > 0)
        {
            let message = "the model is a mixture of experts, which does not run in the process";
            return Err(ModelError::new(ModelErrorKind::Unsupported, message));
        }
        let count = |key: &str| file.needed(key, file.count(key).filter(|count| *count > 0));
        let width = count("llama.embedding_length")?;
        let heads = count("llama.attention.head_count")?;
        let kv_heads = file.count("llama.attention.head_count_kv").unwrap_or(heads);
        let head_width = file.count("llama.attention.key_length");
        let head_width = head_width.unwrap_or(width / heads);
        let epsilon = "llama.attention.layer_norm_rms_epsilon";
        let config = Self {
            layers: count("llama.block_count")?,
            width,
            heads,
            kv_heads,
            head_width,
            rope_width: file
                .count("llama.rope.dimension_count")
                .unwrap_or(head_width),
            rope_base: file.real("llama.rope.freq_base").unwrap_or(10_000.0),
            epsilon: file.needed(epsilon, file.real(epsilon))?,
            context: count("llama.context_length")?,
        };
        let fits = kv_heads > 0
            && heads.is_multiple_of(kv_heads)
            && head_width > 0
            && config.rope_width <= head_width
            && config.rope_width.is_multiple_of(2);
        if fits {
            return Ok(config);
        }
        let message = "the model's file contradicts itself about the heads of attention";
        Err(ModelError::new(ModelErrorKind::Damaged, message))
    }
}
