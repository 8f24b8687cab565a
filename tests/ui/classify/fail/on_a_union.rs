use retry_core::Classify;

#[derive(Classify)]
union PayError {
    status: u16,
    errno: i32,
}

fn main() {}
