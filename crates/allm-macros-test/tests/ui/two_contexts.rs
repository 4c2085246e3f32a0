use allm::{ToolContext, tool};

#[tool]
async fn greet(first: ToolContext, name: String, second: ToolContext) -> Result<String, String> {
    Ok(format!("{name} {first:?} {second:?}"))
}

fn main() {}
