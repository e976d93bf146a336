//! The examples: `cargo run --example embed`, and `reveille up examples/crew.toml`.
