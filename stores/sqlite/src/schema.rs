#![doc = include_str!("../schema.md")]
