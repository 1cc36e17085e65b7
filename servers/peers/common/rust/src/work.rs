use std::time::{Duration, Instant};

/// Keeps a processor busy for a time by the wall clock.
pub fn spin(length: Duration) {
    if length.is_zero() {
        return;
    }
    let start = Instant::now();
    while start.elapsed() < length {}
}

/// Marsaglia's 64-bit generator; its state is never 0.
pub struct Xorshift(u64);

impl Xorshift {
    pub fn new(seed: u64) -> Xorshift {
        // An odd factor: only 0 gives 0.
        Xorshift((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
