//! Sections 3 to 5 and 10, 11, step by step on a store in memory whose clock the test moves.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod world;

mod delivery {
    mod batch;
    mod failing;
    mod marks;
    mod people;
    mod sending;
    mod windows;
}
