use std::rc::Rc;

use allm::tool;

#[tool]
async fn wait(name: String) -> Result<usize, String> {
    let name = Rc::new(name);
    std::future::ready(()).await;
    Ok(name.len())
}

fn main() {}
