//! A matrix of weights.

use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{Device, Module as _, Result, Tensor};

/// A matrix of weights that a row of numbers is multiplied with.
#[derive(Debug)]
pub(crate) struct Matrix {
    weights: QMatMul,
    columns: usize,
    rows: usize,
}

impl Matrix {
    /// These weights, in the form that is fastest to multiply.
    pub(crate) fn new(tensor: QTensor) -> Result<Self> {
        let (rows, columns) = tensor.shape().dims2()?;
        let tensor = if is_slow(tensor.dtype()) && columns.is_multiple_of(32) {
            QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, GgmlDType::Q8_0)?
        } else {
            tensor
        };
        Ok(Self {
            weights: QMatMul::from_arc(Arc::new(tensor))?,
            columns,
            rows,
        })
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Each of the rows in `input`, multiplied. With weights of `Q8_0` what comes of a row does not depend on those
    /// beside it.
    pub(crate) fn apply(&self, input: &[f32]) -> Result<Vec<f32>> {
        let count = input.len() / self.columns;
        let input = Tensor::from_slice(input, (count, self.columns), &Device::Cpu)?;
        self.weights.forward(&input)?.flatten_all()?.to_vec1()
    }
}

/// Whether there is no fast multiplication for weights of this kind, or one whose sums depend on how many rows there are.
fn is_slow(kind: GgmlDType) -> bool {
    matches!(
        kind,
        GgmlDType::Q4_1
            | GgmlDType::Q5_0
            | GgmlDType::Q5_1
            | GgmlDType::Q8_1
            | GgmlDType::F32
            | GgmlDType::F16
            | GgmlDType::BF16
    )
}
