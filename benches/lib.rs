//! Benchmarks: `cargo bench --package reveille-benches`.
//!
//! `rules` times the pure rules, `steps` the store's steps against an append to a vector in the same
//! process. What a disk does to them is not measured here.
