use retry_core::{Stopped, retryable};

struct Pair {
    left: u64,
    right: u64,
}

struct Log(Vec<String>);

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn plain(mut count: u64) -> Result<u64, Stopped<std::io::Error>> {
    count += 1;
    Ok(count)
}

#[retryable(idempotent, max_attempts = 3, deadline = "5s")]
async fn in_patterns(
    (mut a, [b, ref mut c @ ..]): (u64, [u64; 3]),
    Pair { mut left, right }: Pair,
) -> Result<u64, Stopped<std::io::Error>> {
    a += 1;
    left += 1;
    c[0] += 1;
    Ok(a + b + left + right)
}

impl Log {
    #[retryable(idempotent, max_attempts = 3, deadline = "5s")]
    async fn owned(mut self, line: String) -> Result<usize, Stopped<std::io::Error>> {
        self.0.push(line.clone());
        Ok(self.0.len())
    }
}

async fn caller() -> Result<u64, Stopped<std::io::Error>> {
    plain(1).await
}

fn main() {}
