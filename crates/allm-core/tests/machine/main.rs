//! The run machine against its contract, driven by a scripted driver.

mod after;
mod asking;
mod budgets;
mod check;
mod finalize;
mod halts;
mod manual;
mod script;
mod sim;
mod stops;
mod turns;
mod unknown;
