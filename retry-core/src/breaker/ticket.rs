//! A call that was let through.

/// What was let through: when, and as what.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ticket {
    /// A call of a closed breaker.
    Counted { generation: u32 },
    /// A probe of a half-open one.
    Probe { generation: u32, id: u64 },
}
