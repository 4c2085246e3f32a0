use allm::tool;

#[tool(retries = 3)]
async fn first() -> Result<(), String> {
    Ok(())
}

#[tool(name = "second", name = "again")]
async fn second() -> Result<(), String> {
    Ok(())
}

#[tool(timeout = "1s", timeout_ms = 1000)]
async fn third() -> Result<(), String> {
    Ok(())
}

#[tool]
async fn fourth(#[tool(optional)] city: String) -> Result<String, String> {
    Ok(city)
}

fn main() {
    first();
}
