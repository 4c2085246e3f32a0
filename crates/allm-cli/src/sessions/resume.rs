//! `allm sessions resume`.

use super::drive::{self, Driver};
use super::{Desk, find};
use crate::arguments::{Asking, Common};
use crate::problem::{Exit, Problem};

pub(super) async fn resume(common: &Common, id: &str, asking: &Asking) -> Result<Exit, Problem> {
    let desk = Desk::open(common).await?;
    let mut session = find::open(&desk.sessions, id).await?;
    let expired = session.expire().await;
    expired.map_err(|error| super::fault::told(id, &error))?;
    if !session.waits().is_empty() && !session.has_ready_call() && session.run().is_none() {
        return Ok(drive::waiting(&session));
    }
    let driver = Driver::new(&desk, &session, asking).await?;
    driver.go_on(&mut session).await
}
