use allm::tool;

#[tool]
async fn distance((x, y): (f64, f64), _: u8) -> Result<f64, String> {
    Ok(x.hypot(y))
}

fn main() {}
