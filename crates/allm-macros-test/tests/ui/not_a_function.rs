use allm::tool;

#[tool]
pub struct Weather {
    city: String,
}

#[tool]
const CITY: &str = "Rome";

trait Forecast {
    #[tool]
    async fn forecast(city: String) -> Result<String, String>;
}

fn main() {}
