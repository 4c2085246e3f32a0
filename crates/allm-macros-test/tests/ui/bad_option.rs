use allm::tool;

#[tool(effect = harmless)]
async fn first() -> Result<(), String> {
    Ok(())
}

#[tool(effect = reconcile)]
async fn second() -> Result<(), String> {
    Ok(())
}

#[tool(timeout = 30)]
async fn third() -> Result<(), String> {
    Ok(())
}

#[tool(timeout = "half an hour")]
async fn fourth() -> Result<(), String> {
    Ok(())
}

#[tool(timeout_ms = 0)]
async fn fifth() -> Result<(), String> {
    Ok(())
}

#[tool]
async fn sixth(#[tool(default = 3.5)] days: u8) -> Result<u8, String> {
    Ok(days)
}

fn main() {}
