//! What is left when a program that drives a session is killed, and what another one makes of it.
//!
//! | who | what |
//! |---|---|
//! | the program `child` | plays a [`Scenario`](scenario::Scenario) on a store, as a client and a driver; it dies at the [`Points`](points::Points) that it is told |
//! | [`World`](world::World) | the far side of its tools, in the test's own process: counts what happens, and looks in the store before it lets anything happen |
//! | [`Facts`](facts::Facts) | what a journal says, and what must hold of every journal |
//! | [`Stage`](stage::Stage) | plays a scenario with a death at each position, and compares |
//! | [`HostStore`](host::HostStore) | a host that keeps the journal itself |
//! | [`soak`] | many sessions, many programs, deaths at random |

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "only tests use it"
)]

pub mod checks;
pub mod child;
pub mod facts;
mod far_side;
pub mod host;
pub mod job;
pub mod killing;
pub mod points;
pub mod scenario;
pub mod soak;
pub mod stage;
mod tools;
pub mod world;
