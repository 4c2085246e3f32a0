use allm::tool;

#[tool]
async fn auto() -> Result<(), String> {
    Ok(())
}

#[tool]
async fn größe() -> Result<(), String> {
    Ok(())
}

#[tool(name = "get weather")]
async fn second() -> Result<(), String> {
    Ok(())
}

#[tool(name = "")]
async fn third() -> Result<(), String> {
    Ok(())
}

#[tool(name = "0123456789012345678901234567890123456789012345678901234567890123x")]
async fn fourth() -> Result<(), String> {
    Ok(())
}

fn main() {}
