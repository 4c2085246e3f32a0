use allm::tool;

#[tool]
async fn greet(#[cfg(unix)] name: String) -> Result<String, String> {
    Ok(name)
}

fn main() {}
