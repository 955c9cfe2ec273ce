//! The budget against its promises.
