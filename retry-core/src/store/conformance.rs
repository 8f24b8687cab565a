//! What every store is tested by.
