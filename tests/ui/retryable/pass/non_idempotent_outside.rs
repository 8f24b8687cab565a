//! An operation that is not idempotent is awaited anywhere but in a retried
//! body, whichever attribute stands first.
use retry_core::{NonIdempotent, Stopped, non_idempotent, retryable};

struct Printer;

impl Printer {
    #[non_idempotent]
    #[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
    async fn marked_above(&self) -> Result<(), Stopped<std::io::Error>> {
        Ok(())
    }

    #[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
    #[non_idempotent]
    async fn marked_below(&self) -> Result<(), Stopped<std::io::Error>> {
        Ok(())
    }

    #[retryable(at_most_once, max_attempts = 3, deadline = "5s")]
    async fn ship(&self) -> Result<(), Stopped<Stopped<std::io::Error>>> {
        self.marked_above().await?;
        self.marked_below().await
    }
}

async fn ship(printer: &Printer) -> Result<(), Stopped<std::io::Error>> {
    let _: NonIdempotent<_> = printer.marked_above();
    let _: NonIdempotent<_> = printer.marked_below();
    printer.marked_above().await?;
    printer.marked_below().await
}

fn main() {
    drop(ship(&Printer));
    drop(Printer.ship());
}
