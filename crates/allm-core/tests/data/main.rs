//! The data, as the contract describes it.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod response;
#[cfg(test)]
mod thread;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod usage;
