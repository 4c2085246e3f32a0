//! The run machine against its contract, driven by a scripted driver.

mod after;
mod asking;
mod budgets;
mod check;
mod explore;
mod finalize;
mod halts;
mod ids;
mod laws;
mod manual;
mod script;
mod sim;
mod stops;
mod stored;
mod turns;
mod unknown;
