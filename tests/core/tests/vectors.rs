//! Delays, ids and keys against vectors that other implementations made.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a vector that cannot be read is a failed test"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use retry_core::key::ToKey as _;
use retry_core::{
    Backoff, Decision, Failure, Hint, IdempotencyKey, Jitter, Ledger, OperationId, Policy,
    Situation, decide,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The longest time of the pure layer.
const LONGEST: Duration = Duration::from_nanos(i64::MAX as u64);

const SECOND: Duration = Duration::from_secs(1);

fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

fn read<T: DeserializeOwned>(file: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors").join(file);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The draw itself: full jitter under a ceiling of N nanoseconds.
fn unit(id: &str, attempt: u32) -> u128 {
    let n = ns(u64::from(u32::MAX));
    Backoff::fixed(n).jitter(Jitter::Full).delay(id, attempt).as_nanos()
}

/// `backoff.json`: the delays of the article's own function.
mod article {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        article: Article,
        rows: Vec<Row>,
    }

    #[derive(Deserialize)]
    struct Article {
        base_s: u64,
        cap_s: u64,
        attempts: Vec<u32>,
        #[serde(flatten)]
        flights: BTreeMap<String, Vec<u64>>,
    }

    #[derive(Debug, Deserialize)]
    struct Row {
        key: String,
        attempt: u32,
        base_s: u64,
        cap_s: u64,
        unit_u32: u128,
        seed_delay_s: u64,
        equal_jitter_ns: u64,
        full_jitter_ns: u64,
    }

    fn backoff(base_s: u64, cap_s: u64) -> Backoff {
        Backoff::exponential(Duration::from_secs(base_s)).cap(Duration::from_secs(cap_s))
    }

    #[test]
    fn every_row_is_reproduced() {
        let File { rows, .. } = read("backoff.json");
        assert_eq!(rows.len(), 360);
        for row in rows {
            let backoff = backoff(row.base_s, row.cap_s);
            let delay = |backoff: Backoff| backoff.delay(&row.key, row.attempt);
            assert_eq!(unit(&row.key, row.attempt), row.unit_u32, "{row:?}");
            assert_eq!(delay(backoff), ns(row.equal_jitter_ns), "{row:?}");
            assert_eq!(delay(backoff.jitter(Jitter::Full)), ns(row.full_jitter_ns), "{row:?}");
            let seed = delay(backoff.quantum(SECOND));
            assert_eq!(seed, Duration::from_secs(row.seed_delay_s), "{row:?}");
        }
    }

    #[test]
    fn the_articles_lines_are_reproduced() {
        let File { article, .. } = read("backoff.json");
        let backoff = backoff(article.base_s, article.cap_s).quantum(SECOND);
        assert_eq!(article.flights.len(), 2);
        for (flight, seconds) in article.flights {
            let delays = article.attempts.iter().map(|&n| backoff.delay(&flight, n).as_secs());
            assert_eq!(delays.collect::<Vec<_>>(), seconds, "{flight}");
            let delays = backoff.delays(&flight).map(|delay| delay.as_secs());
            assert_eq!(delays.take(seconds.len()).collect::<Vec<_>>(), seconds, "{flight}");
        }
    }
}

/// `curves.json`: what the article's file lacks.
mod curves {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        rows: Vec<Row>,
        keys: Vec<Key>,
        ids: Vec<Id>,
        hints: Vec<Hinted>,
    }

    #[derive(Clone, Copy, Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Curve {
        Fixed,
        Linear,
        Fibonacci,
        Exponential,
    }

    #[derive(Clone, Copy, Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Shortened {
        Equal,
        Full,
        None,
        Additive,
    }

    #[derive(Debug, Deserialize)]
    struct Row {
        key: String,
        attempt: u32,
        curve: Curve,
        factor: Option<(u32, u32)>,
        base_ns: u64,
        cap_ns: Option<u64>,
        quantum_ns: u64,
        jitter: Shortened,
        additive_ns: u64,
        unit_u32: u128,
        ceiling_ns: u64,
        delay_ns: u64,
    }

    impl Row {
        fn backoff(&self) -> Backoff {
            let base = ns(self.base_ns);
            let curve = match self.curve {
                Curve::Fixed => Backoff::fixed(base),
                Curve::Linear => Backoff::linear(base),
                Curve::Fibonacci => Backoff::fibonacci(base),
                Curve::Exponential => {
                    let (p, q) = self.factor.unwrap();
                    Backoff::exponential(base).factor(p, q)
                }
            };
            let jitter = match self.jitter {
                Shortened::Equal => Jitter::Equal,
                Shortened::Full => Jitter::Full,
                Shortened::None => Jitter::None,
                Shortened::Additive => Jitter::Additive(ns(self.additive_ns)),
            };
            let backoff = curve.quantum(ns(self.quantum_ns)).jitter(jitter);
            self.cap_ns.map_or(backoff, |cap| backoff.cap(ns(cap)))
        }
    }

    #[derive(Debug, Deserialize)]
    struct Key {
        name: String,
        value: String,
        key: String,
        children: BTreeMap<String, String>,
    }

    #[derive(Debug, Deserialize)]
    struct Id {
        name: String,
        key: Option<String>,
        process: Option<u64>,
        sequence: Option<u64>,
        id: String,
        attempt: u32,
        unit_u32: u128,
    }

    #[derive(Debug, Deserialize)]
    struct Hinted {
        key: String,
        attempt: u32,
        base_ns: u64,
        left_ns: u64,
        hint_ns: u64,
        computed_ns: u64,
        code: String,
        delay_ns: Option<u64>,
    }

    fn file() -> File {
        read("curves.json")
    }

    #[test]
    fn every_curve_jitter_and_quantum_is_reproduced() {
        let rows = file().rows;
        assert_eq!(rows.len(), 9 * 11 * 5);
        for row in rows {
            let backoff = row.backoff();
            // A schedule that no policy would accept proves nothing.
            assert_eq!(Policy::new(1, SECOND).backoff(backoff).validate(), Ok(()), "{row:?}");
            assert_eq!(unit(&row.key, row.attempt), row.unit_u32, "{row:?}");
            assert_eq!(backoff.ceiling(row.attempt), ns(row.ceiling_ns), "{row:?}");
            assert_eq!(backoff.delay(&row.key, row.attempt), ns(row.delay_ns), "{row:?}");
        }
    }

    #[test]
    fn every_key_and_child_is_reproduced() {
        for Key { name, value, key, children } in file().keys {
            let derived = value.to_key(&name).unwrap();
            assert_eq!(derived.to_string(), key, "{name} {value}");
            assert_eq!(key.parse(), Ok(derived));
            for (label, child) in children {
                assert_eq!(derived.child(&label).to_string(), child, "{name} {value} {label}");
            }
            if let Ok(integer) = value.parse::<i128>() {
                assert_eq!(integer.to_key(&name), Ok(derived));
            }
        }
    }

    #[test]
    fn every_id_is_reproduced_and_drawn_from_as_text() {
        for row in file().ids {
            let id = match (&row.key, row.process, row.sequence) {
                (Some(key), ..) => {
                    OperationId::keyed(row.name.clone(), key.parse::<IdempotencyKey>().unwrap())
                }
                (None, process, sequence) => {
                    OperationId::counted(row.name.clone(), process.unwrap(), sequence.unwrap())
                }
            };
            assert_eq!(id.to_string(), row.id);
            assert_eq!(OperationId::from(row.id.as_str()), id);
            assert_eq!(unit(&row.id, row.attempt), row.unit_u32, "{row:?}");
            assert_eq!(drawn(&id, row.attempt), row.unit_u32, "{row:?}");
        }
    }

    /// The draw as the decision makes it, from the id's parts. A ledger counts
    /// its attempts one by one, so the largest number is left to the text.
    fn drawn(id: &OperationId, attempt: u32) -> u128 {
        if attempt == u32::MAX {
            return unit(&id.to_string(), attempt);
        }
        let policy = Policy::new(u32::MAX, LONGEST);
        match after(attempt, Duration::ZERO, &policy, id, Failure::transient()) {
            Decision::ScheduleRetry(wait) => u128::from(wait.unit()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_hint_is_a_floor() {
        for row in file().hints {
            let left = ns(row.left_ns);
            let elapsed = LONGEST - left;
            let policy = Policy::new(u32::MAX, LONGEST)
                .hint_limit(Duration::MAX)
                .backoff(Backoff::fixed(ns(row.base_ns)));
            let failure = Failure::transient().with_hint(Hint::Wait(ns(row.hint_ns)));
            let id = OperationId::from(row.key.as_str());
            let decision = after(row.attempt, elapsed, &policy, &id, failure);
            assert_eq!(decision.code(), row.code, "{row:?}");
            let delays = match decision {
                Decision::ScheduleRetry(wait) => {
                    assert_eq!(wait.computed(), ns(row.computed_ns), "{row:?}");
                    assert_eq!(wait.hint(), Some(ns(row.hint_ns)), "{row:?}");
                    Some(wait.delay())
                }
                _ => None,
            };
            assert_eq!(delays, row.delay_ns.map(ns), "{row:?}");
        }
    }

    fn after(
        attempts: u32,
        elapsed: Duration,
        policy: &Policy,
        id: &OperationId,
        failure: Failure,
    ) -> Decision {
        let mut ledger = Ledger::new();
        (0..attempts).for_each(|_| ledger.attempt_started());
        ledger.attempt_failed(elapsed, &failure);
        decide(policy, &ledger, &Situation::new(), id, Some(&failure))
    }

    /// The file is what the generator writes, byte for byte.
    #[test]
    fn the_generator_writes_the_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
        let python = Command::new("python3").arg(folder.join("generate.py")).output().expect(
            "python3 runs tests/vectors/generate.py; install it with `apt-get install python3`, \
             `dnf install python3` or `brew install python`",
        );
        assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
        let file = std::fs::read(folder.join("curves.json")).unwrap();
        assert!(
            python.stdout == file,
            "curves.json is not what the generator writes; run `python3 generate.py > curves.json` \
             in tests/vectors and review what changed"
        );
    }
}
