use allm::{ToolContext, tool};

#[tool]
async fn greet(
    name: &str,
    tags: &[String],
    number: &u8,
    ctx: &ToolContext,
) -> Result<String, String> {
    Ok(format!("{name} {tags:?} {number} {ctx:?}"))
}

fn main() {}
