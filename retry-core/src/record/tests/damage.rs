//! A medium that lies is found, and the place named.

use super::*;

/// Damaged there; 0 where it is not one entry's fault.
#[track_caller]
fn is_damaged(read: Result<Record, RecordError>, at: u32, what: &str) {
    match read {
        Err(RecordError::Damaged { entry, .. }) if entry == at => {}
        other => panic!("{what}: damage at entry {at} is not found: {other:?}"),
    }
}

#[test]
fn a_flipped_bit_in_any_body_is_found() {
    let kept = eventful();
    let (mut flipped, mut before) = (0, Checksum::START);
    for (at, entry) in (0..).zip(&kept.entries) {
        let bits = (0..entry.body().len()).flat_map(|place| (0..8).map(move |bit| (place, bit)));
        for (place, bit) in bits {
            let mut bytes = entry.body().as_bytes().to_vec();
            bytes[place] ^= 1 << bit;
            // A store does not read what is not UTF-8 as a text.
            let Ok(body) = String::from_utf8(bytes) else { continue };
            let what = format!("bit {bit} of byte {place} of entry {}", entry.seq());
            let damaged = EntryColumns { body, ..columns(entry) };
            let read = Entry::read(kept.head.record, before, damaged.clone());
            assert!(
                matches!(read, Err(RecordError::Damaged { .. })),
                "{what} is not found: {read:?}"
            );
            flipped += 1;
            if bit == 0 {
                let mut columns = kept.columns();
                columns[at] = damaged;
                is_damaged(kept.read_as(columns), entry.seq(), &what);
            }
        }
        before = entry.sum();
    }
    assert!(flipped > 10_000, "{flipped} bits were flipped");
}

#[test]
fn a_number_that_is_another_is_found() {
    let kept = eventful();
    for (at, entry) in (0..).zip(&kept.entries) {
        let with = |change: fn(&mut EntryColumns)| {
            let mut columns = kept.columns();
            change(&mut columns[at]);
            kept.read_as(columns)
        };
        let seq = entry.seq();
        is_damaged(with(|columns| columns.seq += 1), seq, "its place");
        is_damaged(with(|columns| columns.seq = 0), seq, "its place");
        is_damaged(with(|columns| columns.epoch += 1), seq, "its epoch");
        is_damaged(with(|columns| columns.epoch = u64::MAX), seq, "its epoch");
        is_damaged(with(|columns| columns.attempt += 1), seq, "its attempt");
        let later = |columns: &mut EntryColumns| {
            columns.at = columns.at.plus(Duration::from_nanos(1));
        };
        is_damaged(with(later), seq, "its time");
        is_damaged(with(|columns| columns.at = Timestamp::default()), seq, "its time");
        is_damaged(with(|columns| columns.kind.push('x')), seq, "its kind");
        is_damaged(with(|columns| columns.kind = "parked ".to_owned()), seq, "its kind");
        let zeroed = |columns: &mut EntryColumns| columns.sum = Checksum::START;
        is_damaged(with(zeroed), seq, "its checksum");
        for bit in 0..128_usize {
            let mut columns = kept.columns();
            let mut sum = *columns[at].sum.as_bytes();
            sum[bit / 8] ^= 1 << (bit % 8);
            columns[at].sum = Checksum::from_bytes(sum);
            is_damaged(kept.read_as(columns), seq, "a bit of its checksum");
        }
    }
}

#[test]
fn entries_that_are_missing_doubled_or_turned_are_found() {
    let kept = eventful();
    let count = kept.entries.len();
    for at in 0..count {
        let seq = u32::try_from(at).unwrap() + 1;
        let mut missing = kept.columns();
        missing.remove(at);
        is_damaged(kept.read_as(missing), seq, "one that is missing");

        let mut ends = kept.columns();
        ends.truncate(at);
        let first_missing = if at == 0 { 0 } else { seq };
        is_damaged(kept.read_as(ends), first_missing, "all from one on are missing");

        let mut doubled = kept.columns();
        doubled.insert(at, doubled[at].clone());
        is_damaged(kept.read_as(doubled), seq + 1, "one that is there twice");

        for other in at + 1..count {
            let mut turned = kept.columns();
            turned.swap(at, other);
            is_damaged(kept.read_as(turned), seq, "two that are turned");

            // Under each other's number, as if by an update that went wrong.
            let mut turned = kept.columns();
            turned.swap(at, other);
            (turned[at].seq, turned[other].seq) = (seq, u32::try_from(other).unwrap() + 1);
            is_damaged(kept.read_as(turned), seq, "two whose numbers are turned");
        }
    }
    let mut longer = kept.columns();
    longer.push(EntryColumns { seq: u32::try_from(count).unwrap() + 1, ..longer[1].clone() });
    is_damaged(kept.read_as(longer), u32::try_from(count).unwrap() + 1, "one too many");
}

#[test]
fn entries_of_another_record_are_found() {
    let kept = eventful();
    let other = {
        let arguments = Arguments::of(&serde_json::json!({ "amount": 6 })).unwrap();
        let mut other = Kept::begin(&New { arguments, ..new() });
        other.fails(Failure::transient());
        other
    };
    let mut columns = kept.columns();
    columns[2] = EntryColumns { seq: 3, ..other.columns()[2].clone() };
    is_damaged(kept.read_as(columns), 3, "an entry of another");
    is_damaged(kept.read_as(other.columns()), 5, "the entries of another, which has fewer");
    let shorter = Kept { head: other.head.clone(), ..kept.clone() };
    is_damaged(shorter.read(), 0, "the entries of another, which has more");
}

#[test]
fn a_row_that_is_not_what_its_entries_fold_to_is_found() {
    use crate::StopReason;
    let kept = eventful();
    type Change = fn(&mut Head);
    let changes: [(&str, Change); 21] = [
        ("operation", |head| head.operation = OperationId::from("another")),
        ("safety", |head| head.safety = Safety::AtMostOnce),
        ("policy", |head| head.policy = head.policy.max_attempts(4)),
        ("rules", |head| head.rules = 0),
        ("fingerprint", |head| {
            head.fingerprint = Arguments::from_json("{}".to_owned()).fingerprint();
        }),
        ("phase", |head| head.phase = Phase::Dead),
        ("started", |head| head.started -= 1),
        ("released", |head| head.released += 1),
        ("crashes", |head| head.crashes = 0),
        ("deferrals", |head| head.deferrals += 1),
        ("hints", |head| head.hints = 0),
        ("elapsed", |head| head.elapsed -= Duration::from_nanos(1)),
        ("planned", |head| head.planned = Some(SECOND)),
        ("due_at", |head| head.due_at = Timestamp::default()),
        ("due_reason", |head| head.due_reason = Some(StopReason::CircuitOpen)),
        ("stop", |head| {
            head.stop = Some(StopText { reason: StopReason::Cancelled, text: String::new() });
        }),
        ("last_error", |head| head.last_error = None),
        ("sum", |head| head.sum = Checksum::START),
        ("created_at", |head| head.created_at = Timestamp::default()),
        ("updated_at", |head| head.updated_at = head.created_at),
        ("epoch", |head| head.lease.epoch = 1),
    ];
    for (what, change) in changes {
        let mut forged = kept.clone();
        change(&mut forged.head);
        is_damaged(forged.read(), 0, what);
    }
    let mut forged = kept;
    forged.head.seq -= 1;
    is_damaged(forged.read(), 0, "seq");
}

#[test]
fn arguments_and_a_result_that_are_others_are_found() {
    let kept = eventful();
    let arguments = Arguments::from_json(r#"{"amount":6}"#.to_owned());
    is_damaged(Kept { arguments, ..kept.clone() }.read(), 0, "its arguments");
    for result in [None, Some(String::new()), Some(r#"{"receipt":"r-2"}"#.to_owned())] {
        is_damaged(Kept { result, ..kept.clone() }.read(), 0, "its result");
    }
    let running = Kept { result: Some("1".to_owned()), ..Kept::begin(&new()) };
    is_damaged(running.read(), 0, "a result before there is one");
}

#[test]
fn times_and_claims_that_run_back_are_found() {
    let kept = eventful();
    // Chained by the rules, so that the checksums fit.
    let rechained = |change: fn(&mut EntryColumns)| {
        let mut columns = kept.columns();
        change(&mut columns[6]);
        let mut before = Checksum::START;
        for columns in &mut columns {
            let EntryColumns { seq, at, epoch, attempt, .. } = *columns;
            let numbers = [u64::from(seq), at.as_nanos().unsigned_abs(), epoch, u64::from(attempt)];
            columns.sum = before.next(numbers, &columns.body);
            before = columns.sum;
        }
        kept.read_as(columns)
    };
    is_damaged(rechained(|columns| columns.at = BEGIN), 7, "a time before the one before");
    is_damaged(rechained(|columns| columns.epoch = 1), 7, "a claim that was over");
    is_damaged(rechained(|columns| columns.attempt = 1), 7, "an attempt that was over");
}

#[test]
fn an_error_names_the_record_the_entry_and_what_to_do() {
    let kept = eventful();
    let mut columns = kept.columns();
    columns[4].body = columns[4].body.replace("1000000000", "2000000000");
    let error = kept.read_as(columns).unwrap_err();
    assert_eq!(
        error.to_string(),
        "record 01J00000000000000000000001 is damaged at entry 5: its checksum does not fit its content, \
         or an entry before it is missing; nothing was changed, restore it from a backup",
    );
    let mut columns = kept.columns();
    columns.truncate(16);
    let error = kept.read_as(columns).unwrap_err();
    assert_eq!(
        error.to_string(),
        "record 01J00000000000000000000001 is damaged at entry 17: it is missing, and the row tells of \
         17 entries; nothing was changed, restore it from a backup",
    );
}
