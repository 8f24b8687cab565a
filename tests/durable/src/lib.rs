//! Tests of durable operations; there is nothing here but `tests/` and `ui/`.
