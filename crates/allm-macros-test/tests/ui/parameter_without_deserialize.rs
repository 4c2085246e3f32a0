use allm::tool;

#[derive(schemars::JsonSchema)]
struct City(String);

#[tool]
async fn greet(city: City) -> Result<String, String> {
    Ok(city.0)
}

fn main() {}
