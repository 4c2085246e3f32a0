//! Tiny models for tests: a GGUF file that is written here, byte by byte, with weights that are known.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A model whose next token depends on the last one alone, as the test says.
pub(crate) struct Tiny {
    words: Vec<(String, i32)>,
    kind: Vocabulary,
    next: Vec<(u32, u32, f32)>,
    template: String,
    context: u32,
}

/// How the vocabulary of a model is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vocabulary {
    ByteLevel,
    /// As SentencePiece has it.
    Sentence,
}

/// The mark that every prompt ends with.
pub(crate) const GO: &str = "<|go|>";
/// The mark that every answer ends with.
pub(crate) const END: &str = "<|im_end|>";

/// A template that knows no tools, shows every message and then [`GO`].
pub(crate) const MESSAGES: &str =
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}<|go|>";

const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const BYTE: i32 = 6;

/// The letter that stands for a byte in a vocabulary.
fn letter(byte: u8) -> char {
    let is_itself = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if is_itself(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|byte| !is_itself(*byte)).count();
    char::from_u32(0x100 + u32::try_from(before).unwrap()).unwrap()
}

impl Tiny {
    /// A vocabulary of bytes and marks, and a template that knows tools, shows every message and then [`GO`].
    pub(crate) fn new() -> Self {
        let bytes = (0..=u8::MAX).map(|byte| (letter(byte).to_string(), NORMAL));
        let marks = [END, GO, "<|im_start|>"].map(|mark| (mark.to_owned(), CONTROL));
        Self {
            words: bytes.chain(marks).collect(),
            kind: Vocabulary::ByteLevel,
            next: Vec::new(),
            template: format!("{{% if tools %}}{{% endif %}}{MESSAGES}"),
            context: 4096,
        }
    }

    /// The same with a vocabulary as SentencePiece has it: of bytes, the space and marks.
    pub(crate) fn sentence() -> Self {
        let first = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)];
        let first = first.map(|(word, kind)| (word.to_owned(), kind));
        let bytes = (0..=u8::MAX).map(|byte| (format!("<0x{byte:02X}>"), BYTE));
        let last = [("▁", NORMAL), (END, CONTROL), (GO, CONTROL)];
        let last = last.map(|(word, kind)| (word.to_owned(), kind));
        Self {
            words: first.into_iter().chain(bytes).chain(last).collect(),
            kind: Vocabulary::Sentence,
            ..Self::new()
        }
    }

    pub(crate) fn template(mut self, template: &str) -> Self {
        self.template = template.to_owned();
        self
    }

    pub(crate) fn context(mut self, context: u32) -> Self {
        self.context = context;
        self
    }

    /// The token of a text: a mark, or a word that is added if it is not there.
    fn token(&mut self, bytes: &[u8]) -> u32 {
        let word: String = match (std::str::from_utf8(bytes), self.kind) {
            (Ok(mark), _) if mark.starts_with("<|") => mark.to_owned(),
            (Ok(text), Vocabulary::Sentence) => text.replace(' ', "▁"),
            (Err(_), Vocabulary::Sentence) => {
                let bytes = bytes.iter();
                bytes.map(|byte| format!("<0x{byte:02X}>")).collect()
            }
            (_, Vocabulary::ByteLevel) => bytes.iter().map(|byte| letter(*byte)).collect(),
        };
        let known = self.words.iter().position(|(known, _)| *known == word);
        let place = known.unwrap_or_else(|| {
            self.words.push((word, NORMAL));
            self.words.len() - 1
        });
        u32::try_from(place).unwrap()
    }

    /// After this, most likely that.
    pub(crate) fn after(mut self, this: impl AsRef<[u8]>, that: impl AsRef<[u8]>) -> Self {
        self = self.weighted(this, that, 1.0);
        self
    }

    /// After this, that with this score beside others.
    pub(crate) fn weighted(
        mut self,
        this: impl AsRef<[u8]>,
        that: impl AsRef<[u8]>,
        weight: f32,
    ) -> Self {
        let (this, that) = (self.token(this.as_ref()), self.token(that.as_ref()));
        self.next.push((this, that, weight));
        self
    }

    /// After the prompt these pieces, each after the one before, and then the end. Each piece may come once.
    pub(crate) fn says(mut self, pieces: &[&[u8]]) -> Self {
        let mut last: Vec<u8> = GO.into();
        for piece in pieces {
            self = self.after(&last, piece);
            last = piece.to_vec();
        }
        self.after(&last, END)
    }

    /// Writes the model's file.
    pub(crate) fn write(&self, path: &Path) -> PathBuf {
        let count = self.words.len();
        let width = count.next_multiple_of(32);
        let mut embedding = vec![0.0; count * width];
        let mut output = vec![0.0; count * width];
        for token in 0..count {
            embedding[token * width + token] = 1.0;
        }
        for (this, that, weight) in &self.next {
            output[*that as usize * width + *this as usize] = *weight;
        }
        let mut file = Writer::default();
        file.settings(&Shape {
            width,
            layers: 1,
            inner: 32,
            context: self.context,
        });
        file.vocabulary(self);
        file.layer(0, width, 32, &mut |_| 0.0);
        file.tensor("token_embd.weight", &[count, width], embedding);
        file.tensor("output_norm.weight", &[width], vec![1.0; width]);
        file.tensor("output.weight", &[count, width], output);
        file.write(path)
    }
}

/// Writes a model of two layers whose weights look random, so that every part of the arithmetic counts.
pub(crate) fn write_noise(path: &Path) -> PathBuf {
    let tiny = Tiny::new();
    let (count, width, inner) = (tiny.words.len(), 64, 96);
    let mut state = 7_u64;
    let mut noise = move |scale: f32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        #[expect(clippy::cast_precision_loss, reason = "noise")]
        let number = (state >> 40) as f32 / (1_u64 << 24) as f32;
        (number - 0.5) * scale
    };
    let mut file = Writer::default();
    file.settings(&Shape {
        width,
        layers: 2,
        inner,
        context: 512,
    });
    file.vocabulary(&tiny);
    for layer in 0..2 {
        file.layer(layer, width, inner, &mut noise);
    }
    let embedding = (0..count * width).map(|_| noise(2.0)).collect();
    file.tensor("token_embd.weight", &[count, width], embedding);
    file.tensor("output_norm.weight", &[width], vec![1.0; width]);
    file.write(path)
}

struct Shape {
    width: usize,
    layers: usize,
    inner: usize,
    context: u32,
}

const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD_WIDTH: usize = 16;

/// The parts of a GGUF file.
#[derive(Default)]
struct Writer {
    metadata: Vec<u8>,
    settings: u64,
    tensors: Vec<(String, Vec<usize>, Vec<f32>)>,
}

impl Writer {
    fn text(to: &mut Vec<u8>, text: &str) {
        to.extend((text.len() as u64).to_le_bytes());
        to.extend(text.as_bytes());
    }

    fn setting(&mut self, key: &str, kind: u32, value: &[u8]) {
        Self::text(&mut self.metadata, key);
        self.metadata.extend(kind.to_le_bytes());
        self.metadata.extend(value);
        self.settings += 1;
    }

    fn number(&mut self, key: &str, number: usize) {
        self.setting(key, 4, &u32::try_from(number).unwrap().to_le_bytes());
    }

    fn words(&mut self, key: &str, text: &str) {
        let mut value = Vec::new();
        Self::text(&mut value, text);
        self.setting(key, 8, &value);
    }

    fn list(&mut self, key: &str, kind: u32, count: usize, items: &[u8]) {
        let mut value = kind.to_le_bytes().to_vec();
        value.extend((count as u64).to_le_bytes());
        value.extend(items);
        self.setting(key, 9, &value);
    }

    fn settings(&mut self, shape: &Shape) {
        self.words("general.architecture", "llama");
        self.number("llama.block_count", shape.layers);
        self.number("llama.embedding_length", shape.width);
        self.number("llama.feed_forward_length", shape.inner);
        self.number("llama.attention.head_count", HEADS);
        self.number("llama.attention.head_count_kv", KV_HEADS);
        self.number("llama.attention.key_length", HEAD_WIDTH);
        self.number("llama.rope.dimension_count", HEAD_WIDTH);
        self.number("llama.context_length", shape.context as usize);
        self.setting(
            "llama.attention.layer_norm_rms_epsilon",
            6,
            &1e-5_f32.to_le_bytes(),
        );
    }

    fn vocabulary(&mut self, tiny: &Tiny) {
        let words = &tiny.words;
        self.words("tokenizer.chat_template", &tiny.template);
        match tiny.kind {
            Vocabulary::ByteLevel => {
                self.words("tokenizer.ggml.model", "gpt2");
                self.words("tokenizer.ggml.pre", "smollm");
                self.list("tokenizer.ggml.merges", 8, 0, &[]);
            }
            Vocabulary::Sentence => {
                self.words("tokenizer.ggml.model", "llama");
                // Later words have lower scores, as where they were learned in this order.
                let scores = (0_u16..).map(|place| -f32::from(place)).take(words.len());
                let scores: Vec<u8> = scores.flat_map(f32::to_le_bytes).collect();
                self.list("tokenizer.ggml.scores", 6, words.len(), &scores);
            }
        }
        let mut items = Vec::new();
        words
            .iter()
            .for_each(|(word, _)| Self::text(&mut items, word));
        self.list("tokenizer.ggml.tokens", 8, words.len(), &items);
        let items: Vec<u8> = words
            .iter()
            .flat_map(|(_, kind)| kind.to_le_bytes())
            .collect();
        self.list("tokenizer.ggml.token_type", 5, words.len(), &items);
        let places: HashMap<&str, usize> = words
            .iter()
            .enumerate()
            .map(|(place, (word, _))| (&**word, place))
            .collect();
        self.number("tokenizer.ggml.eos_token_id", places[END]);
    }

    fn layer(
        &mut self,
        number: usize,
        width: usize,
        inner: usize,
        weight: &mut dyn FnMut(f32) -> f32,
    ) {
        let queries = HEADS * HEAD_WIDTH;
        let keys = KV_HEADS * HEAD_WIDTH;
        let matrices = [
            ("attn_q", queries, width),
            ("attn_k", keys, width),
            ("attn_v", keys, width),
            ("attn_output", width, queries),
            ("ffn_gate", inner, width),
            ("ffn_up", inner, width),
            ("ffn_down", width, inner),
        ];
        for (name, rows, columns) in matrices {
            let numbers = (0..rows * columns).map(|_| weight(0.5)).collect();
            self.tensor(
                &format!("blk.{number}.{name}.weight"),
                &[rows, columns],
                numbers,
            );
        }
        for name in ["attn_norm", "ffn_norm"] {
            self.tensor(
                &format!("blk.{number}.{name}.weight"),
                &[width],
                vec![1.0; width],
            );
        }
    }

    fn tensor(&mut self, name: &str, shape: &[usize], numbers: Vec<f32>) {
        assert_eq!(shape.iter().product::<usize>(), numbers.len());
        self.tensors
            .push((name.to_owned(), shape.to_vec(), numbers));
    }

    fn write(&self, path: &Path) -> PathBuf {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend((self.tensors.len() as u64).to_le_bytes());
        file.extend(self.settings.to_le_bytes());
        file.extend(&self.metadata);
        let mut data: Vec<u8> = Vec::new();
        for (name, shape, numbers) in &self.tensors {
            Self::text(&mut file, name);
            file.extend(u32::try_from(shape.len()).unwrap().to_le_bytes());
            for length in shape.iter().rev() {
                file.extend((*length as u64).to_le_bytes());
            }
            // Plain numbers of 32 bits.
            file.extend(0_u32.to_le_bytes());
            file.extend((data.len() as u64).to_le_bytes());
            data.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            data.resize(data.len().next_multiple_of(32), 0);
        }
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(data);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file).unwrap();
        path.to_owned()
    }
}
