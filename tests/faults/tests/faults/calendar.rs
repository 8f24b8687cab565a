//! The machine's calendar is stepped while everything runs.

use std::fs;
use std::path::PathBuf;

use retry_core::record::{Ended, Phase};
use retry_faults::process::{End, Worker};
use retry_faults::{Kind, Said};

use crate::service::{Service, attempts};

const HOUR: i64 = 3_600;

struct Machine {
    service: Service,
    calendar: PathBuf,
    /// In milliseconds.
    lease: &'static str,
    /// In an attempt.
    held: u32,
    /// Waits for its next attempt.
    parked: u32,
}

impl Machine {
    fn new() -> Self {
        let service = Service { is_stepped: true, ..Service::new() };
        let calendar = service.folder.path().join("calendar");
        let (held, parked) = (Kind::Gated.number(0), Kind::Parked.number(0));
        let machine = Self { service, calendar, lease: "200", held, parked };
        machine.step(0);
        machine
    }

    /// So much ahead of the time, or behind it.
    fn step(&self, seconds: i64) {
        // Whole at every time.
        let new = self.calendar.with_extension("new");
        fs::write(&new, seconds.to_string()).unwrap();
        fs::rename(new, &self.calendar).unwrap();
    }

    fn worker(&self) -> Worker {
        let calendar = self.calendar.to_str().unwrap();
        self.service.worker(&["--calendar", calendar, "--lease", self.lease])
    }

    /// One operation is in an attempt, another waits after its first.
    fn busy(&self) -> Worker {
        let mut worker = self.worker();
        worker.ask(self.held);
        worker.ask(self.parked);
        let is_parked = |said: &Said| match said {
            Said::Kept(kept) if kept.phase == Phase::Parked.as_str() => Some(()),
            _ => None,
        };
        worker.listen_for(is_parked).unwrap();
        self.service.until_polled(self.held, 1);
        worker
    }

    fn kill(&mut self, mut worker: Worker) {
        assert_eq!(worker.kill().unwrap(), End::Killed);
        self.service.remember(&worker);
    }

    fn end(&mut self, mut worker: Worker) {
        self.service.book.open(self.held);
        worker.tell_no_more();
        assert_eq!(worker.end().unwrap(), End::Well);
        self.service.remember(&worker);
    }

    fn ended(&self, operation: u32) -> Vec<(u32, Ended)> {
        attempts(&self.service.record(operation))
    }
}

/// Leases and waits of a process that lives go on as if nothing had happened.
fn stepped(seconds: i64) {
    let mut machine = Machine::new();
    let mut worker = machine.busy();
    machine.step(seconds);
    // Not before its time, nor an hour later.
    assert!(worker.answer_of(machine.parked).unwrap().receipt.is_some());
    machine.end(worker);
    assert_eq!(machine.ended(machine.held), [(1, Ended::Succeeded)]);
    assert_eq!(machine.ended(machine.parked), [(1, Ended::Failed), (2, Ended::Succeeded)]);
    machine.service.audit(&[machine.held, machine.parked]);
}

#[test]
fn a_calendar_that_is_stepped_forward_ends_no_lease_that_is_kept() {
    stepped(HOUR);
}

#[test]
fn a_calendar_that_is_stepped_back_makes_no_wait_longer() {
    stepped(-HOUR);
}

/// Time in which nobody lives is charged by the calendar.
#[test]
fn an_hour_forward_while_nobody_lives_is_charged() {
    let mut machine = Machine::new();
    let worker = machine.busy();
    machine.kill(worker);
    machine.step(HOUR);
    let mut worker = machine.worker();
    worker.ask(machine.held);
    worker.ask(machine.parked);
    machine.end(worker);
    // 60 s were left at most: not tried again. The other one had two hours.
    let held = machine.service.record(machine.held);
    assert_eq!(held.head().phase, Phase::Dead);
    assert_eq!(held.head().elapsed, held.head().policy.get_deadline());
    assert_eq!(machine.ended(machine.held), [(1, Ended::Crashed)]);
    assert_eq!(machine.ended(machine.parked), [(1, Ended::Failed), (2, Ended::Succeeded)]);
    assert_eq!(machine.service.book.attempts(machine.held).unwrap(), [1]);
    machine.service.audit(&[machine.held, machine.parked]);
}

/// The store's time goes on slowly until the calendar has come back to it: nothing is
/// earlier, and nobody's lease ends by it.
#[test]
fn an_hour_back_while_nobody_lives_makes_nothing_earlier() {
    let mut machine = Machine { lease: "20000", ..Machine::new() };
    let worker = machine.busy();
    machine.kill(worker);
    machine.step(-HOUR);
    let mut worker = machine.worker();
    worker.ask(machine.held);
    worker.ask(machine.parked);
    for number in [machine.held, machine.parked] {
        worker.again_of(number, "in_flight").unwrap();
    }
    let before = machine.service.record(machine.held).head().clone();
    assert_eq!(machine.service.book.attempts(machine.held).unwrap(), [1]);
    // Their leases are over, and there is time left.
    machine.step(25);
    machine.end(worker);
    let after = machine.service.record(machine.held).head().clone();
    assert!(after.elapsed >= before.elapsed && after.updated_at >= before.updated_at);
    assert_eq!(machine.ended(machine.held), [(1, Ended::Crashed), (2, Ended::Succeeded)]);
    assert_eq!(machine.ended(machine.parked), [(1, Ended::Failed), (2, Ended::Succeeded)]);
    machine.service.audit(&[machine.held, machine.parked]);
}

/// Two processes, and a step that ends the lease of one that lives: whoever loses it
/// is fenced.
#[test]
fn an_hour_forward_between_two_processes_makes_no_second_result() {
    let mut machine = Machine::new();
    let mut one = machine.busy();
    let mut other = machine.worker();
    for number in [machine.held, machine.parked] {
        other.ask(number);
        other.again_of(number, "in_flight").unwrap();
    }
    machine.step(HOUR);
    machine.service.book.open(machine.held);
    for number in [machine.held, machine.parked] {
        assert_eq!(one.answer_of(number).unwrap(), other.answer_of(number).unwrap());
    }
    machine.end(one);
    machine.end(other);
    machine.service.audit(&[machine.held, machine.parked]);
}
