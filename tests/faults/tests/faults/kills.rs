//! Kills at every fault point, and at any other time.

use std::io::{self, Write as _};
use std::sync::Mutex;
use std::thread;

use retry_faults::{Campaign, Crew, Point, Tally};

use crate::service::PROGRAM;

/// At each point; every second time beside another process on the same file.
const AT_EACH: usize = 5;
/// For each point, at some time or other.
const AT_RANDOM: usize = 3;
/// How many stores are worked on at a time: most of it is waiting.
const STORES: usize = 6;

#[test]
fn whenever_a_process_is_killed_nothing_is_lost_and_nothing_done_twice() {
    let points = Mutex::new((1..).zip(Point::all()).collect::<Vec<_>>());
    let tally = Mutex::new(Tally::default());
    thread::scope(|scope| {
        for _ in 0..STORES {
            scope.spawn(|| {
                loop {
                    let next = points.lock().unwrap().pop();
                    let Some((seed, point)) = next else { return };
                    let done = campaign(point, seed);
                    tally.lock().unwrap().add(done);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    // Also where the test passes, and its output is not shown.
    writeln!(io::stdout(), "{tally}").unwrap();
    assert_eq!(tally.findings, Vec::<String>::new());
    for point in Point::all() {
        assert!(tally.at(point) >= AT_EACH as u64, "{point}");
    }
    assert!(tally.kills() >= 200, "{}", tally.kills());
    assert!(tally.shared > 0 && tally.released > 0 && tally.crashed > 0 && tally.removed > 0);
}

/// One store.
fn campaign(point: Point, seed: u64) -> Tally {
    let mut campaign = Campaign::new(PROGRAM, seed).unwrap();
    for kill in 0..AT_EACH {
        campaign.kill_at(point, crew(kill)).unwrap();
    }
    for kill in 0..AT_RANDOM {
        campaign.kill_at_random(crew(kill)).unwrap();
    }
    campaign.finish().unwrap()
}

fn crew(kill: usize) -> Crew {
    if kill % 2 == 1 { Crew::Two } else { Crew::Alone }
}
