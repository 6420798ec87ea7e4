//! Plugins that act as service accounts of their own: the API server decides what each of them may do, and the host itself
//! writes nothing for them.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod audit;
mod rights;
mod team;
mod ten;
