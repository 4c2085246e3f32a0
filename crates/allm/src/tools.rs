//! Tools at work: executors, the runner, argument checks.
