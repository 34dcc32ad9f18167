//! The ways into a secured broker: TLS with an authority of one's own, client certificates,
//! passwords, tokens that are renewed while nothing comes; and what is said where the door stays
//! shut.
//!
//! The invariant: what a broker holds is asked of it over its open listener, never of riverhog.
//! Next stop: `bed.rs`.

mod bed;
mod issuer;
mod logins;
mod refused;
mod tokens;
