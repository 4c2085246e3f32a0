use allm::tool;

#[tool]
async fn first<T: Clone, const N: usize>(values: Vec<T>) -> Result<usize, String> {
    Ok(values.len() + N)
}

#[tool]
async fn second(value: impl ToString, other: u8) -> Result<String, String> {
    Ok(value.to_string())
}

fn main() {
    first();
    second();
}
