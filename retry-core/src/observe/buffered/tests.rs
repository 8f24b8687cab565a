use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use super::*;
use crate::observe::every_event::{Lines, tell_all};

fn tokens(tokens: u64) -> BudgetChanged<'static> {
    BudgetChanged { resource: "gateway", tokens, refused: false }
}

/// Says that it hears something, and goes on when it is let.
struct Gated {
    hears: Sender<u64>,
    go: Mutex<Receiver<()>>,
}

impl Observer for Gated {
    fn budget_changed(&self, event: &BudgetChanged<'_>) {
        self.hears.send(event.tokens).unwrap();
        // The test has gone: then everything goes.
        let _ = self.go.lock().unwrap().recv();
    }
}

fn gated(capacity: usize) -> (Buffered, Receiver<u64>, Sender<()>) {
    let ((hears, heard), (gate, go)) = (channel(), channel());
    let go = Mutex::new(go);
    (Buffered::new(Gated { hears, go }, capacity).unwrap(), heard, gate)
}

#[test]
fn what_finds_the_queue_full_is_dropped_and_counted_and_the_rest_keeps_its_order() {
    for capacity in [1, 2, 7] {
        let (buffered, heard, gate) = gated(capacity);
        buffered.budget_changed(&tokens(0));
        // It is out of the queue now, and the observer is busy with it.
        assert_eq!(heard.recv(), Ok(0));
        let fit = u64::try_from(capacity).unwrap();
        for event in 1..=fit + 3 {
            buffered.budget_changed(&tokens(event));
            assert_eq!(buffered.dropped(), event.saturating_sub(fit));
        }
        drop(gate);
        buffered.flush();
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), (1..=fit).collect::<Vec<_>>());
        assert_eq!(buffered.dropped(), 3);
    }
}

#[test]
fn the_last_clone_that_goes_waits_until_all_is_heard() {
    let (buffered, heard, gate) = gated(100);
    for event in 0..100 {
        buffered.clone().budget_changed(&tokens(event));
    }
    drop(gate);
    drop(buffered);
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
}

#[test]
fn no_capacity_is_too_small_or_too_large() {
    for capacity in [0, usize::MAX] {
        let (buffered, heard, gate) = gated(capacity);
        drop(gate);
        buffered.budget_changed(&tokens(1));
        buffered.flush();
        assert_eq!((heard.try_recv(), buffered.dropped()), (Ok(1), 0));
    }
}

#[test]
fn the_observer_hears_what_it_would_hear_directly() {
    let (direct, behind) = (Lines::default(), Lines::default());
    tell_all(&direct);
    tell_all(&Buffered::new(behind.clone(), 16).unwrap());
    assert_eq!(behind.lines(), direct.lines());
}

#[test]
fn a_panic_on_one_event_takes_no_other_with_it() {
    let panics = Lines::that_panics();
    let buffered = Buffered::new(panics.clone(), 16).unwrap();
    tell_all(&buffered);
    buffered.flush();
    assert_eq!((panics.lines().len(), buffered.dropped()), (8, 0));
}

/// Lets go of the last clone of the queue that it is behind.
struct LetsGo {
    own: Arc<Mutex<Option<Buffered>>>,
    done: Sender<()>,
}

impl Observer for LetsGo {
    fn budget_changed(&self, _: &BudgetChanged<'_>) {
        let own = self.own.lock().unwrap().take();
        if let Some(own) = own {
            own.flush();
            drop(own);
            self.done.send(()).unwrap();
        }
    }
}

#[test]
fn an_observer_that_holds_its_own_queue_does_not_wait_for_itself() {
    let (done, heard) = channel();
    let own: Arc<Mutex<Option<Buffered>>> = Arc::default();
    let buffered = Buffered::new(LetsGo { own: Arc::clone(&own), done }, 16).unwrap();
    let mut held = own.lock().unwrap();
    buffered.budget_changed(&tokens(1));
    *held = Some(buffered);
    drop(held);
    // Ends when the thread lets go of the observer.
    assert_eq!(heard.iter().count(), 1);
}
