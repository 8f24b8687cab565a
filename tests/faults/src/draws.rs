//! Numbers that one seed gives again.

/// A sequence of numbers, by splitmix64: the same for the same seed.
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// The sequence of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next one, below this.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One in so many is true.
    pub const fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// In another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}
