//! Arithmetic over rows of numbers. The sums are in a fixed order, so that equal inputs give equal bits.

/// How many sums run side by side.
const LANES: usize = 16;

/// The sum of products.
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (left, left_rest) = left.as_chunks::<LANES>();
    let (right, right_rest) = right.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (left, right) in left.iter().zip(right) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let rest = left_rest.iter().zip(right_rest);
    let rest: f32 = rest.map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}

/// Adds a multiple of a row.
pub(super) fn add_scaled(to: &mut [f32], row: &[f32], factor: f32) {
    for (to, number) in to.iter_mut().zip(row) {
        *to += number * factor;
    }
}

/// Adds a row.
pub(super) fn add(to: &mut [f32], row: &[f32]) {
    for (to, number) in to.iter_mut().zip(row) {
        *to += number;
    }
}

/// Each row of this width, scaled to the length of one and by the weights.
pub(super) fn normed(rows: &[f32], weights: &[f32], epsilon: f32) -> Vec<f32> {
    let mut normed = Vec::with_capacity(rows.len());
    #[expect(clippy::cast_precision_loss, reason = "a width is a small number")]
    let width = weights.len() as f32;
    for row in rows.chunks_exact(weights.len().max(1)) {
        let scale = (dot(row, row) / width + epsilon).sqrt().recip();
        let scaled = row
            .iter()
            .zip(weights)
            .map(|(number, weight)| number * scale * weight);
        normed.extend(scaled);
    }
    normed
}

/// `gate · sigmoid(gate) · up`, into `gate`.
pub(super) fn gated(gate: &mut [f32], up: &[f32]) {
    for (gate, up) in gate.iter_mut().zip(up) {
        *gate = *gate / (1.0 + (-*gate).exp()) * up;
    }
}

/// Turns scores into shares that add up to one.
pub(super) fn softmax(scores: &mut [f32]) {
    let highest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - highest).exp();
        sum += *score;
    }
    for score in scores.iter_mut() {
        *score /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_no_forgotten_rest() {
        let row: Vec<f32> = (1..=19_u8).map(f32::from).collect();
        assert_eq!(dot(&row, &row), 2470.0);
    }

    #[test]
    fn shares_add_up() {
        let mut scores = [1.0, 2.0, 3.0, 1000.0];
        softmax(&mut scores);
        assert_eq!(scores, [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn rows_are_normed_alone() {
        let weights = [1.0, 2.0];
        let one = normed(&[3.0, 4.0], &weights, 0.0);
        let two = normed(&[9.0, 9.0, 3.0, 4.0], &weights, 0.0);
        assert_eq!(one, two[2..]);
        assert!((one[1] - 8.0 / 12.5_f32.sqrt()).abs() < 1e-6);
    }
}
