//! Whatever happens to an operation, its record holds what records hold.

use proptest::prelude::*;

use super::arbitrary::{Step, What, new, step};
use super::*;

impl Kept {
    /// Applies the step as its author would write it, whether or not it applies.
    fn take(&mut self, step: &Step) -> Result<(), Refused> {
        let back = i64::try_from(step.back.as_nanos()).unwrap_or(i64::MAX);
        self.now = Timestamp::from_nanos(self.now.as_nanos().saturating_sub(back));
        self.pass(step.passed);
        let fence = self.fence();
        let elapsed = self.head.elapsed.saturating_add(step.passed);
        let (holder, epoch) = (Holder::new(), self.head.lease.epoch);
        let append = |events| Change::Append { fence, events, keeps: step.keeps, result: None };
        let runs = self.head.phase == Phase::Running;
        self.apply(match &step.what {
            // Of what nobody holds, the next call takes the lease.
            What::Ask(_) | What::Fail(..) | What::Write(_) if self.head.lease.held.is_none() => {
                Change::TakeOver { epoch, holder, lease: LEASE }
            }
            What::Fail(failure, situation) if runs => {
                append(self.failed(elapsed, *failure, *situation))
            }
            What::Ask(situation) | What::Fail(_, situation) => {
                let event = self.before_attempt(elapsed, *situation);
                let keeps = step.keeps || matches!(event, Event::AttemptStarted { .. });
                Change::Append { fence, events: vec![event], keeps, result: None }
            }
            What::Succeed(result) => {
                Change::complete(fence, self.head.started, elapsed, result.clone())
            }
            What::Release => append(vec![Event::Released { attempt: self.head.started }]),
            &What::Abandon(ended, situation) => {
                Change::Abandon { fence, ended, elapsed, situation }
            }
            &What::Heartbeat(lease) => Change::Heartbeat { fence, lease },
            &What::TakeOver(lease) => Change::TakeOver { epoch, holder, lease },
            &What::Claim(lease) => Change::Claim { holder, lease },
            What::Reclaim => Change::Reclaim { epoch },
            What::Write(events) => {
                let has_result =
                    events.iter().any(|event| matches!(event, Event::ResultRecorded { .. }));
                let result = has_result.then(|| "1".to_owned());
                Change::Append { fence, events: events.clone(), keeps: step.keeps, result }
            }
        })
    }
}

/// What holds between one state and a later one.
fn follows(before: &Head, after: &Head) {
    assert!(after.started >= before.started, "numbers only rise");
    assert!(after.released >= before.released && after.released <= after.started);
    assert!(after.attempts() <= after.policy.get_max_attempts(), "within the policy");
    assert!(after.elapsed >= before.elapsed, "time never runs back");
    assert!(after.lease.epoch >= before.lease.epoch, "epochs never fall");
    assert!(after.crashes >= before.crashes && after.deferrals >= before.deferrals);
    assert!(after.hints >= before.hints && after.seq >= before.seq);
    assert!(after.updated_at >= before.updated_at && after.created_at == before.created_at);
    let kept = |head: &Head| {
        let Head { record, operation, safety, policy, rules, fingerprint, .. } = head;
        (*record, operation.clone(), *safety, *policy, *rules, *fingerprint)
    };
    assert_eq!(kept(before), kept(after), "what it began with stays");
    if before.phase.is_settled() {
        assert_eq!(before, after, "what is settled stays");
    }
    if let (Some((one, earlier)), Some((other, later))) = (before.lease.held, after.lease.held)
        && (before.lease.epoch, one) == (after.lease.epoch, other)
    {
        assert!(later >= earlier, "a lease is never shortened");
    }
}

/// What holds of every state.
fn holds(head: &Head) {
    assert!(!head.phase.is_settled() || head.lease.held.is_none(), "nobody holds what is settled");
    assert!(head.phase != Phase::Running || head.lease.held.is_some(), "somebody runs it");
    assert_eq!(head.stop.is_some(), matches!(head.phase, Phase::Dead | Phase::Review));
    assert_eq!(head.planned.is_some(), head.phase == Phase::Parked, "what waits knows for what");
    assert!(head.due_reason.is_none() || head.phase == Phase::Parked);
}

fn numbers(entries: &[Entry]) -> Vec<u32> {
    let number = |entry: &Entry| match entry.event() {
        Event::AttemptStarted { attempt, .. } => Some(*attempt),
        _ => None,
    };
    entries.iter().filter_map(number).collect()
}

proptest! {
    #[test]
    fn every_prefix_folds_and_replays(new in new(), steps in prop::collection::vec(step(), 1..40)) {
        let mut kept = Kept::begin(&new);
        let mut states = vec![(kept.entries.len(), kept.head.clone(), None)];
        holds(&kept.head);
        for step in &steps {
            let before = kept.clone();
            match kept.take(step) {
                Ok(()) => {
                    follows(&before.head, &kept.head);
                    holds(&kept.head);
                    states.push((kept.entries.len(), kept.head.clone(), kept.result.clone()));
                }
                Err(_) => {
                    prop_assert_eq!(&kept.head, &before.head);
                    prop_assert_eq!(&kept.entries, &before.entries);
                }
            }
        }
        let started = numbers(&kept.entries);
        prop_assert!(started.windows(2).all(|pair| pair[0] < pair[1]), "{started:?}");
        // What is read is what was written, and every decision in it is the pure one.
        let record = kept.read().unwrap();
        for (read, written) in record.entries().iter().zip(&kept.entries) {
            prop_assert_eq!((read.sum(), read.body()), (written.sum(), written.body()));
            prop_assert_eq!(serde_json::to_string(read.event()).unwrap(), read.body());
        }
        prop_assert_eq!(record.entries().len(), kept.entries.len());
        if let Err(difference) = record.replay() {
            panic!("{difference}");
        }
        // Wherever a store stopped, it has a record that reads and replays.
        for (entries, head, result) in states {
            let columns = kept.entries[..entries].iter().map(columns);
            let prefix = Record::read(head, columns, kept.arguments.clone(), result).unwrap();
            if let Err(difference) = prefix.replay() {
                panic!("{difference}");
            }
        }
        // Between the entries of one change there is no state, but the fold goes on.
        let mut folded = Head::begin(kept.head.record, &record.entries()[0]).unwrap();
        for entry in &record.entries()[1..] {
            let before = folded.clone();
            folded.follow(entry).unwrap();
            follows(&before, &folded);
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_is_found(
        new in new(),
        steps in prop::collection::vec(step(), 1..20),
        entry in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let mut kept = Kept::begin(&new);
        for step in &steps {
            let _ = kept.take(step);
        }
        let at = entry.index(kept.entries.len());
        let mut bytes = kept.entries[at].body().as_bytes().to_vec();
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        if let Ok(body) = String::from_utf8(bytes) {
            let mut columns = kept.columns();
            columns[at].body = body;
            let seq = kept.entries[at].seq();
            let found = kept.read_as(columns);
            prop_assert!(
                matches!(found, Err(RecordError::Damaged { entry, .. }) if entry == seq),
                "{found:?}",
            );
        }
    }
}
