//! The steps of the delivery contract (sections 2 to 6, 10, 11), one property at a time, over restarts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod world;

mod steps {
    mod accepted;
    mod dead;
    mod groups;
    mod keys;
    mod limits;
    mod marks;
    mod order;
    mod questions;
    mod rest;
    mod schedules;
    mod sending;
    mod steering;
    mod tasks;
    mod teams;
    mod together;
}
