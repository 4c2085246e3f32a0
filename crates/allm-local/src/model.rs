//! A model of the Llama family: from tokens to the scores of the next one.

mod attention;
mod cache;
mod config;
mod math;
mod matrix;
mod rope;

use candle_core::quantized::QTensor;
use candle_core::{Device, Tensor};

use crate::error::{ModelError, ModelErrorKind};
use crate::gguf::Gguf;

pub(crate) use cache::Cache;
pub(crate) use config::Config;

use matrix::Matrix;
use rope::Rope;

/// A model of the Llama family.
pub(crate) struct Llama {
    config: Config,
    embedding: QTensor,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    output: Matrix,
    rope: Rope,
}

struct Layer {
    attention_norm: Vec<f32>,
    query: Matrix,
    key: Matrix,
    value: Matrix,
    attention_output: Matrix,
    feed_norm: Vec<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

/// Reads tensors of a file and says which one was wrong.
struct Reader<'a>(&'a mut Gguf);

impl Reader<'_> {
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Matrix, ModelError> {
        let matrix = Matrix::new(self.0.tensor(name)?).map_err(|error| wrong(name, &error))?;
        if (matrix.rows(), matrix.columns()) == (rows, columns) {
            return Ok(matrix);
        }
        let found = format!("{} by {}", matrix.rows(), matrix.columns());
        Err(wrong(
            name,
            &format!("it is {found}, not {rows} by {columns}"),
        ))
    }

    fn row(&mut self, name: &str) -> Result<Vec<f32>, ModelError> {
        let tensor = self.0.tensor(name)?;
        let numbers = tensor
            .dequantize(&Device::Cpu)
            .and_then(|tensor| tensor.to_vec1());
        numbers.map_err(|error| wrong(name, &error))
    }
}

fn wrong(name: &str, what: &dyn std::fmt::Display) -> ModelError {
    let message = format!("its tensor `{name}` cannot be used: {what}");
    ModelError::new(ModelErrorKind::Damaged, message)
}

impl Llama {
    pub(crate) fn load(file: &mut Gguf) -> Result<Self, ModelError> {
        let config = Config::read(file)?;
        let mut reader = Reader(file);
        let embedding = reader.0.tensor("token_embd.weight")?;
        let (vocabulary, width) = embedding
            .shape()
            .dims2()
            .map_err(|error| wrong("token_embd.weight", &error))?;
        if width != config.width {
            return Err(wrong("token_embd.weight", &"its width is not the model's"));
        }
        let layers = (0..config.layers).map(|number| Layer::load(&mut reader, &config, number));
        let layers = layers.collect::<Result<_, _>>()?;
        // Many small models use the same weights at both ends.
        let output = if reader.0.has_tensor("output.weight") {
            "output.weight"
        } else {
            "token_embd.weight"
        };
        let factors = match reader.0.has_tensor("rope_freqs.weight") {
            true => Some(reader.row("rope_freqs.weight")?),
            false => None,
        };
        Ok(Self {
            layers,
            norm: reader.row("output_norm.weight")?,
            output: reader.matrix(output, vocabulary, width)?,
            rope: Rope::new(&config, factors.as_deref()),
            embedding,
            config,
        })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn vocabulary(&self) -> usize {
        self.output.rows()
    }

    pub(crate) fn cache(&self) -> Cache {
        let Config {
            layers,
            kv_heads,
            head_width,
            ..
        } = self.config;
        Cache::new(layers, kv_heads, head_width)
    }

    /// Reads tokens that follow those of the cache, and gives the scores of what comes after the last of them.
    pub(crate) fn read(&self, tokens: &[u32], cache: &mut Cache) -> candle_core::Result<Vec<f32>> {
        let rows = self.read_rows(tokens, cache)?;
        let last = rows.len().saturating_sub(self.config.width);
        self.scores(rows.get(last..).unwrap_or_default())
    }

    /// Reads tokens, and gives the scores of what comes after each of them, one behind the other.
    pub(crate) fn read_each(
        &self,
        tokens: &[u32],
        cache: &mut Cache,
    ) -> candle_core::Result<Vec<f32>> {
        match tokens {
            [] => Ok(Vec::new()),
            tokens => self.scores(&self.read_rows(tokens, cache)?),
        }
    }

    fn scores(&self, rows: &[f32]) -> candle_core::Result<Vec<f32>> {
        self.output
            .apply(&math::normed(rows, &self.norm, self.config.epsilon))
    }

    fn read_rows(&self, tokens: &[u32], cache: &mut Cache) -> candle_core::Result<Vec<f32>> {
        let known = cache.len();
        let read = self.read_into(tokens, cache);
        match &read {
            Ok(_) => cache.read(tokens),
            // Some layers may have them already.
            Err(_) => cache.cut(known),
        }
        read
    }

    fn read_into(&self, tokens: &[u32], cache: &mut Cache) -> candle_core::Result<Vec<f32>> {
        let epsilon = self.config.epsilon;
        let turns = self.rope.turns(cache.len(), tokens.len());
        let ids = Tensor::from_slice(tokens, tokens.len(), &Device::Cpu)?;
        let mut rows: Vec<f32> = self.embedding.embedding(&ids)?.flatten_all()?.to_vec1()?;
        for (number, layer) in self.layers.iter().enumerate() {
            let Some(heads) = cache.heads(number) else {
                candle_core::bail!("the cache has too few layers");
            };
            let input = math::normed(&rows, &layer.attention_norm, epsilon);
            let mut queries = layer.query.apply(&input)?;
            let mut keys = layer.key.apply(&input)?;
            let values = layer.value.apply(&input)?;
            self.rope.turn(&mut queries, &turns);
            self.rope.turn(&mut keys, &turns);
            attention::keep(heads, &keys, &values, self.config.head_width);
            let seen = attention::attend(&self.config, heads, &queries, tokens.len());
            math::add(&mut rows, &layer.attention_output.apply(&seen)?);

            let input = math::normed(&rows, &layer.feed_norm, epsilon);
            let mut gate = layer.gate.apply(&input)?;
            math::gated(&mut gate, &layer.up.apply(&input)?);
            math::add(&mut rows, &layer.down.apply(&gate)?);
        }
        Ok(rows)
    }
}

impl Layer {
    fn load(reader: &mut Reader<'_>, config: &Config, number: usize) -> Result<Self, ModelError> {
        let name = |part: &str| format!("blk.{number}.{part}.weight");
        let width = config.width;
        let queries = config.heads * config.head_width;
        let keys = config.kv_heads * config.head_width;
        let gate = name("ffn_gate");
        let inner = reader.0.tensor(&gate)?.shape().dims().first().copied();
        let inner = inner.unwrap_or_default();
        Ok(Self {
            attention_norm: reader.row(&name("attn_norm"))?,
            query: reader.matrix(&name("attn_q"), queries, width)?,
            key: reader.matrix(&name("attn_k"), keys, width)?,
            value: reader.matrix(&name("attn_v"), keys, width)?,
            attention_output: reader.matrix(&name("attn_output"), width, queries)?,
            feed_norm: reader.row(&name("ffn_norm"))?,
            gate: reader.matrix(&gate, inner, width)?,
            up: reader.matrix(&name("ffn_up"), inner, width)?,
            down: reader.matrix(&name("ffn_down"), width, inner)?,
        })
    }
}

#[cfg(test)]
mod tests;
