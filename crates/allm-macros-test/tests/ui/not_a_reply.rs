use allm::tool;

struct Weather;

#[tool]
async fn plain(city: String) -> String {
    city
}

#[tool]
async fn nothing(city: String) {
    drop(city);
}

#[tool(blocking)]
fn opaque(city: String) -> Result<Weather, String> {
    drop(city);
    Ok(Weather)
}

fn main() {}
