use allm::tool;

#[tool]
pub fn greet(name: String) -> Result<String, String> {
    Ok(name)
}

#[tool(blocking)]
pub async fn wait(name: String) -> Result<String, String> {
    Ok(name)
}

fn main() {}
