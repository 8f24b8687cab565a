//! Names and times, as columns have them.

use std::collections::HashSet;
use std::time::SystemTime;

use super::*;

#[test]
fn the_id_of_a_record_is_exactly_its_text() {
    for text in
        ["01J00000000000000000000001", "00000000000000000000000000", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"]
    {
        let id: RecordId = text.parse().unwrap();
        assert_eq!(id.to_string(), text);
        assert_eq!(text.to_ascii_lowercase().parse(), Ok(id), "a person may type it in lower case");
        assert_eq!(format!("{id:?}"), format!("RecordId({text})"));
    }
    for text in [
        "",
        "01J0000000000000000000000",
        "01J000000000000000000000012",
        // 130 bits.
        "80000000000000000000000000",
        "ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
        // Read as a 1 or a 0 by some.
        "0IJ00000000000000000000001",
        "0LJ00000000000000000000001",
        "O1J00000000000000000000001",
        "U1J00000000000000000000001",
        "01J0000000000000000000000-",
        " 1J00000000000000000000001",
        "01J000000000000000000000é",
    ] {
        let error = text.parse::<RecordId>().unwrap_err();
        assert_eq!(error.to_string(), format!("`{text}` is not a record's id"));
    }
}

#[test]
fn later_records_sort_behind_earlier_ones() {
    let made: Vec<_> = (0..1000).map(|_| RecordId::new()).collect();
    let distinct: HashSet<_> = made.iter().collect();
    assert_eq!(distinct.len(), made.len());
    for id in &made {
        assert_eq!(id.to_string().parse(), Ok(*id));
    }
    let early: RecordId = "01J00000000000000000000001".parse().unwrap();
    let late: RecordId = "01J00000000000000000000002".parse().unwrap();
    assert!(early < late && early.to_string() < late.to_string());
}

#[test]
fn a_holder_is_exactly_its_text() {
    let holder: Holder = "01J0000000000000000000000W-18446744073709551615".parse().unwrap();
    assert_eq!(holder.to_string(), "01J0000000000000000000000W-18446744073709551615");
    assert_eq!(holder.worker().to_string(), "01J0000000000000000000000W");
    for text in [
        "",
        "-",
        "01J0000000000000000000000W",
        "01J0000000000000000000000W-",
        "01J0000000000000000000000W-+1",
        "01J0000000000000000000000W-01",
        "01J0000000000000000000000W--1",
        "01J0000000000000000000000W-18446744073709551616",
        "01j0000000000000000000000w-1",
        "host-1",
    ] {
        let error = text.parse::<Holder>().unwrap_err();
        assert_eq!(error.to_string(), format!("`{text}` is not the holder of a lease"));
    }
    let (one, two) = (Holder::new(), Holder::new());
    assert_ne!(one, two);
    assert_eq!((one.worker(), two.worker()), (Holder::this_worker(), Holder::this_worker()));
}

#[test]
fn a_time_is_never_negative_and_saturates() {
    assert_eq!(Timestamp::from_nanos(-1), Timestamp::default());
    assert_eq!(serde_json::from_str::<Timestamp>("-5").unwrap(), Timestamp::default());
    assert_eq!(serde_json::to_string(&BEGIN).unwrap(), "1795000000000000000");
    let last = Timestamp::from_nanos(i64::MAX);
    assert_eq!(last.plus(Duration::MAX), last);
    assert_eq!(Timestamp::default().plus(Duration::MAX), last);
    assert_eq!(Timestamp::default().since(last), Duration::ZERO);
    assert_eq!(last.since(Timestamp::default()).as_nanos(), i64::MAX as u128);
    let before = SystemTime::UNIX_EPOCH - SECOND;
    assert_eq!(Timestamp::from(before), Timestamp::default());
    assert_eq!(SystemTime::from(BEGIN), SystemTime::UNIX_EPOCH + BEGIN.since(Timestamp::default()));
    assert_eq!(Timestamp::from(SystemTime::from(BEGIN)), BEGIN);
    assert_eq!(BEGIN.to_string(), "1795000000000000000");
}

#[test]
fn sums_phases_and_fingerprints_are_exactly_their_texts() {
    let sum = Checksum::of_text("x");
    assert_eq!(sum.to_string().parse(), Ok(sum));
    assert_eq!(Checksum::from_bytes(*sum.as_bytes()), sum);
    let upper = sum.to_string().to_ascii_uppercase();
    for text in ["", "0", "g0000000000000000000000000000000", upper.as_str()] {
        assert!(text.parse::<Checksum>().is_err(), "{text}");
    }
    let fingerprint = Arguments::from_json("{}".to_owned()).fingerprint();
    assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
    assert!(sum.to_string().parse::<Fingerprint>().is_err(), "half of one");
    for phase in Phase::ALL {
        assert_eq!(phase.as_str().parse(), Ok(phase));
    }
    let words = Phase::ALL.map(Phase::as_str);
    assert_eq!(words, ["ready", "running", "parked", "review", "done", "dead", "cancelled"]);
    for text in ["", "Ready", "leased", "done "] {
        assert!(text.parse::<Phase>().is_err(), "{text}");
    }
}

#[test]
fn a_text_that_is_shown_is_cut_and_escaped() {
    let error = "x\n".repeat(100).parse::<RecordId>().unwrap_err();
    assert_eq!(error.to_string(), format!("`{}` is not a record's id", "x\\n".repeat(32)));
}
