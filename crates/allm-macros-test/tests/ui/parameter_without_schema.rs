use allm::tool;

#[derive(serde::Deserialize)]
struct City(String);

#[tool]
async fn greet(city: City, days: u8) -> Result<String, String> {
    Ok(format!("{} {days}", city.0))
}

fn main() {}
