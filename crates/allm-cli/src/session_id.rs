//! Names of new sessions: short, in the order of time, and easy to type.

use allm::{Beginning, DurableSession, Sessions, StoreReason};
use jiff::Zoned;

use crate::problem::Problem;

/// Letters that are not taken for one another.
const LETTERS: &[u8; 16] = b"bcdfghjkmnpqrstw";

/// How many names are tried before it is given up: each is taken with a chance of one in thousands.
const TRIES: u32 = 8;

/// Makes a session with a name of its own, such as `261116-1503-kgtw`.
pub(crate) async fn create(
    sessions: &Sessions,
    beginning: Beginning,
) -> Result<DurableSession, Problem> {
    let mut tries = 1;
    loop {
        let id = fresh(&Zoned::now())?;
        match sessions.create_with(id, beginning.clone()).await {
            Err(error)
                if error.store_reason() == Some(StoreReason::AlreadyExists) && tries < TRIES =>
            {
                tries += 1;
            }
            created => return Ok(created?),
        }
    }
}

fn fresh(now: &Zoned) -> Result<String, Problem> {
    let mut random = [0; 2];
    getrandom::fill(&mut random)
        .map_err(|error| Problem::failed(format!("there is no randomness to be had: {error}")))?;
    let letter = |nibble: u8| LETTERS.get(usize::from(nibble)).copied().unwrap_or(b'x');
    let letters = random.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let letters: String = letters.map(|nibble| char::from(letter(nibble))).collect();
    Ok(format!("{}-{letters}", now.strftime("%y%m%d-%H%M")))
}
