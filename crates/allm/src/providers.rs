//! Providers: who answers.
