//! Reading a GGUF file: its metadata and its tensors.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use candle_core::Device;
use candle_core::quantized::QTensor;
use candle_core::quantized::gguf_file::{Content, Value};

use crate::error::{ModelError, ModelErrorKind};

/// An open GGUF file.
pub(crate) struct Gguf {
    content: Content,
    file: BufReader<File>,
}

impl Gguf {
    pub(crate) fn open(path: &Path) -> Result<Self, ModelError> {
        let shown = path.display();
        let file = File::open(path).map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                let message = format!("there is no model {shown}; obtain one with models::pull");
                return ModelError::new(ModelErrorKind::NotFound, message);
            }
            let message = format!("the model's file {shown} cannot be opened");
            ModelError::new(ModelErrorKind::Io, message).because(error)
        })?;
        let mut file = BufReader::new(file);
        let content = Content::read(&mut file).map_err(|error| {
            let message = "it is damaged or no GGUF file";
            ModelError::new(ModelErrorKind::Damaged, message).because(first_line(&error))
        })?;
        Ok(Self { content, file })
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(key)
    }

    /// A whole number, of whichever width.
    pub(crate) fn count(&self, key: &str) -> Option<usize> {
        let number = match self.value(key)? {
            Value::I8(number) => i64::from(*number),
            Value::I16(number) => i64::from(*number),
            Value::I32(number) => i64::from(*number),
            Value::I64(number) => *number,
            value => i64::try_from(value.to_u64().ok()?).ok()?,
        };
        usize::try_from(number).ok()
    }

    pub(crate) fn real(&self, key: &str) -> Option<f32> {
        match self.value(key)? {
            Value::F32(number) => Some(*number),
            #[expect(clippy::cast_possible_truncation, reason = "a setting of a model")]
            Value::F64(number) => Some(*number as f32),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.value(key)?.to_bool().ok()
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.value(key)?.to_string().ok().map(String::as_str)
    }

    pub(crate) fn texts(&self, key: &str) -> Option<Vec<&str>> {
        let list = self.value(key)?.to_vec().ok()?;
        let texts = list.iter().map(|value| value.to_string().ok());
        texts.map(|text| text.map(String::as_str)).collect()
    }

    pub(crate) fn reals(&self, key: &str) -> Option<Vec<f32>> {
        let list = self.value(key)?.to_vec().ok()?;
        list.iter().map(|value| value.to_f32().ok()).collect()
    }

    pub(crate) fn counts(&self, key: &str) -> Option<Vec<i64>> {
        let list = self.value(key)?.to_vec().ok()?;
        let number = |value: &Value| match value {
            Value::I32(number) => Some(i64::from(*number)),
            value => i64::try_from(value.to_u64().ok()?).ok(),
        };
        list.iter().map(number).collect()
    }

    /// What must be there.
    pub(crate) fn needed<T>(&self, key: &str, found: Option<T>) -> Result<T, ModelError> {
        found.ok_or_else(|| {
            let message = match self.value(key) {
                None => format!("the model's file does not say `{key}`"),
                Some(_) => format!("the model's file has a strange value for `{key}`"),
            };
            ModelError::new(ModelErrorKind::Unsupported, message)
        })
    }

    pub(crate) fn has_tensor(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }

    pub(crate) fn tensor(&mut self, name: &str) -> Result<QTensor, ModelError> {
        if !self.has_tensor(name) {
            let message = format!("the model's file has no tensor `{name}`");
            return Err(ModelError::new(ModelErrorKind::Unsupported, message));
        }
        let tensor = self.content.tensor(&mut self.file, name, &Device::Cpu);
        tensor.map_err(|error| {
            let message = format!("its tensor `{name}` cannot be read");
            ModelError::new(ModelErrorKind::Damaged, message).because(first_line(&error))
        })
    }
}

/// What an error says, without the stack that may follow it.
fn first_line(error: &candle_core::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
