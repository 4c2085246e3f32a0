use allm::tool;

struct Weather;

impl Weather {
    #[tool]
    async fn get(&self, city: String) -> Result<String, String> {
        Ok(city)
    }
}

fn main() {
    Weather::get();
}
