//! What stands under a budget's lock: time, the shares, the callers' names, and
//! who waits.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::task::Waker;

use super::capacity::{Capacity, Retries};
use super::empty::Lack;
use super::line::{Line, Sum};
use super::settings::Scheme;
use super::shares::{Shares, TOKEN};
use super::{FORGET_AFTER, Shared, Stats, WAITED_FOR};
use crate::nanos::Nanos;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How often callers are looked for that have left.
const SWEEP_EVERY: Nanos = Nanos::saturating(FORGET_AFTER.as_nanos() / 4);

/// How finely a caller's last call is noted, so that threads seldom write it.
const SEEN_STEP: u64 = 1_000_000_000;

/// A caller, as its handles know it.
#[derive(Debug)]
pub(super) struct Slot {
    name: Box<str>,
    weight: u32,
    /// Where its share is, or [`AWAY`]. Written under the lock.
    place: AtomicUsize,
    /// Its last call, in nanoseconds.
    seen: AtomicU64,
}

const AWAY: usize = usize::MAX;

impl Slot {
    pub(super) fn new(name: &str, weight: u32) -> Self {
        let (place, seen) = (AtomicUsize::new(AWAY), AtomicU64::new(0));
        Self { name: name.into(), weight, place, seen }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_away(&self) -> bool {
        self.place() == AWAY
    }

    pub(super) fn seen_at(&self, now: Nanos) {
        if now.get() >= self.seen.load(Ordering::Relaxed).saturating_add(SEEN_STEP) {
            self.seen.store(now.get(), Ordering::Relaxed);
        }
    }

    fn place(&self) -> usize {
        self.place.load(Ordering::Relaxed)
    }

    fn seen(&self) -> Nanos {
        Nanos::saturating(self.seen.load(Ordering::Relaxed).into())
    }

    fn has_left(&self, now: Nanos) -> bool {
        let noted = Nanos::saturating(FORGET_AFTER.as_nanos() + SEEN_STEP as u128);
        now.minus(self.seen()) >= noted
    }
}

/// A caller, found by its name.
#[derive(Debug)]
struct Named(Arc<Slot>);

impl Borrow<str> for Named {
    fn borrow(&self) -> &str {
        self.0.name()
    }
}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for Named {}

#[derive(Debug)]
pub(super) struct Book {
    pub(super) shares: Shares,
    /// To be woken when the lock is released.
    pub(super) woken: Vec<Waker>,
    time: Nanos,
    /// How much of the income is in the shares.
    received: u64,
    /// Retries that count against the capacity.
    retries: Retries,
    names: HashSet<Named>,
    folded: u64,
    swept: Nanos,
    lines: BTreeMap<usize, Line>,
    /// The lines whose first could be served, had it a permit, by their turns.
    /// Empty without a capacity.
    turns: BTreeMap<u64, usize>,
    next_turn: u64,
    /// Served and not yet fetched.
    served: HashMap<u64, Nanos>,
    tickets: u64,
}

/// What its holder keeps of a place in line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    number: u64,
    line: usize,
}

impl Book {
    pub(super) fn new(scheme: &Scheme) -> Self {
        Self {
            shares: Shares::new(scheme.size, scheme.fair, scheme.least, scheme.start),
            woken: Vec::new(),
            time: Nanos::ZERO,
            received: 0,
            retries: Retries::default(),
            names: HashSet::new(),
            folded: 0,
            swept: Nanos::ZERO,
            lines: BTreeMap::new(),
            turns: BTreeMap::new(),
            next_turn: 0,
            served: HashMap::new(),
            tickets: 0,
        }
    }

    pub(super) fn stats(&self) -> Stats {
        let whole = |grains: u128| u64::try_from(grains / TOKEN).unwrap_or(u64::MAX);
        Stats {
            tokens: whole(self.shares.total()),
            held: whole(self.shares.beside_stock()),
            callers: usize::try_from(self.shares.count()).unwrap_or(usize::MAX),
            folded: self.folded,
            waiting: self.lines.values().map(|line| line.all().places).sum(),
        }
    }

    /// Lets in what has come since, and serves those who wait.
    pub(super) fn advance(&mut self, shared: &Shared, now: Nanos) {
        self.let_in(shared, now);
        if self.time.minus(self.swept) >= SWEEP_EVERY {
            self.sweep(shared, self.time);
        }
        self.serve(shared);
    }

    fn let_in(&mut self, shared: &Shared, now: Nanos) {
        let passed = now.minus(self.time);
        self.time = self.time.max(now);
        // The lock and the handing over of the caller order what this must see.
        let income = shared.income.load(Ordering::Relaxed) >> 1;
        let received = income.wrapping_sub(self.received);
        self.received = income;
        let floor = (u128::from(shared.scheme.floor) * passed.wide()) << 32;
        self.shares
            .pour(floor.saturating_add(shared.scheme.income.saturating_mul(received.into())));
    }

    /// The slot of a name: its own, or that of the rest.
    pub(super) fn slot(&mut self, shared: &Shared, name: &str) -> Arc<Slot> {
        if let Some(Named(slot)) = self.names.get(name) {
            return Arc::clone(slot);
        }
        let most = shared.scheme.max_callers;
        // A full house is swept once in as many look-ups as it holds.
        if self.names.len() >= most && self.folded.is_multiple_of(most as u64) {
            let seen = self.names.iter().map(|Named(slot)| slot.seen()).fold(self.time, Nanos::max);
            self.sweep(shared, seen);
        }
        if self.names.len() >= most {
            self.folded = self.folded.saturating_add(1);
            return Arc::clone(&shared.rest);
        }
        let weight = shared.scheme.weights.get(name).copied().unwrap_or(1);
        let slot = Arc::new(Slot::new(name, weight));
        self.names.insert(Named(Arc::clone(&slot)));
        slot
    }

    /// Where a caller's share is. One that has none joins.
    pub(super) fn place(&mut self, shared: &Shared, slot: &Arc<Slot>) -> usize {
        if !slot.is_away() {
            return slot.place();
        }
        if !Arc::ptr_eq(slot, &shared.rest)
            && !self.names.contains(slot.name())
            && self.names.len() < shared.scheme.max_callers
        {
            self.names.insert(Named(Arc::clone(slot)));
        }
        let slot = Arc::clone(self.current(shared, slot));
        slot.seen_at(self.time);
        if slot.is_away() {
            slot.place.store(self.shares.join(slot.weight), Ordering::Relaxed);
        }
        slot.place()
    }

    /// The slot that counts for a handle, which may be older than its caller's
    /// return.
    fn current<'a>(&'a self, shared: &'a Shared, slot: &'a Arc<Slot>) -> &'a Arc<Slot> {
        if !slot.is_away() || Arc::ptr_eq(slot, &shared.rest) {
            return slot;
        }
        self.names.get(slot.name()).map_or(&shared.rest, |Named(slot)| slot)
    }

    /// Lets go of the callers who have left, and of names that nobody uses.
    fn sweep(&mut self, shared: &Shared, now: Nanos) {
        self.swept = self.time;
        let (lines, shares) = (&self.lines, &mut self.shares);
        let mut left = false;
        let mut keeps = |slot: &Arc<Slot>| {
            if slot.is_away() {
                return Arc::strong_count(slot) > 1;
            }
            let stays = !slot.has_left(now) || lines.contains_key(&slot.place());
            if !stays {
                shares.leave(slot.place());
                slot.place.store(AWAY, Ordering::Relaxed);
                left = true;
            }
            stays
        };
        let _ = keeps(&shared.rest);
        self.names.retain(|Named(slot)| keeps(slot));
        if left {
            // Who is left has a larger part of the floor.
            self.lines.values_mut().for_each(Line::has_news);
            let lines: Vec<usize> = self.lines.keys().copied().collect();
            lines.into_iter().for_each(|line| self.tell(shared, line));
        }
    }

    /// Takes what a retry costs, all or nothing, and says when it counts.
    pub(super) fn grant(
        &mut self,
        shared: &Shared,
        place: usize,
        cost: u128,
    ) -> Result<Nanos, Lack> {
        if self.lines.contains_key(&place) {
            return Err(Lack::Tokens);
        }
        self.take(shared, place, cost)
    }

    fn take(&mut self, shared: &Shared, place: usize, cost: u128) -> Result<Nanos, Lack> {
        let held = self.shares.held(place);
        if shared.scheme.threshold.is_some_and(|threshold| held <= threshold) {
            return Err(Lack::Successes);
        }
        if held < cost {
            return Err(Lack::Tokens);
        }
        if let Some(capacity) = &shared.capacity {
            if !capacity.has_room(&self.retries, self.time) {
                return Err(Lack::Permits(capacity.permits()));
            }
            self.retries.count(self.time);
        }
        self.shares.charge(place, cost);
        Ok(self.time)
    }

    /// When `cost` is there behind all who wait, or `None` where only calls can
    /// bring it.
    pub(super) fn next(&mut self, shared: &Shared, place: usize, cost: u128) -> Option<Nanos> {
        let ahead = self.lines.get(&place).map(Line::all).unwrap_or_default();
        self.when(shared, place, cost, ahead)
    }

    fn when(&mut self, shared: &Shared, place: usize, cost: u128, ahead: Sum) -> Option<Nanos> {
        let held = self.shares.held(place);
        if shared.scheme.threshold.is_some_and(|threshold| held <= threshold) {
            return None;
        }
        let shortfall = self.shares.shortfall(place, ahead.cost + cost);
        let tokens = match (shortfall, u128::from(shared.scheme.floor) << 32) {
            (0, _) => self.time,
            (_, 0) => return None,
            (_, floor) => self.time.plus(Nanos::saturating(shortfall.div_ceil(floor))),
        };
        let next = |it: &Capacity| it.next(&self.retries, self.time, ahead.places);
        let permits = shared.capacity.as_ref().map(next);
        Some(permits.map_or(tokens, |permits| permits.max(tokens)))
    }

    /// Takes the last place in line.
    pub(super) fn wait(&mut self, shared: &Shared, line: usize, cost: u128) -> Ticket {
        let number = self.tickets;
        self.tickets += 1;
        let waiting = self.lines.entry(line).or_default();
        waiting.join(number, cost);
        let is_first = waiting.all().places == 1;
        self.shares.queue(line, waiting.all().cost);
        if is_first {
            self.await_tokens(shared, line);
        }
        // From here on, who brings something in serves the line. What came in
        // just before is let in by the holder's first poll.
        shared.income.fetch_or(WAITED_FOR, Ordering::Relaxed);
        Ticket { number, line }
    }

    /// Serves those who wait, first come first served within a caller. It looks at
    /// no other lines than those that it serves; where permits are short, the
    /// lines take turns.
    fn serve(&mut self, shared: &Shared) {
        loop {
            self.give_turns(shared);
            let Some((_, &line)) = self.turns.first_key_value() else { return };
            let Some(cost) = self.lines.get(&line).and_then(Line::first_cost) else { return };
            match self.take(shared, line, cost) {
                Ok(granted) => {
                    if let Some((number, waker)) = self.lines.get_mut(&line).and_then(Line::serve) {
                        self.served.insert(number, granted);
                        self.woken.extend(waker);
                    }
                    self.await_tokens(shared, line);
                    self.moved_up(shared, line);
                }
                Err(Lack::Permits(_)) => return,
                // A failure has taken them since.
                Err(_) => self.await_tokens(shared, line),
            }
        }
    }

    /// Gives a turn to each line whose first holds its tokens now.
    fn give_turns(&mut self, shared: &Shared) {
        while let Some(line) = self.shares.next_content() {
            let Some(waiting) = self.lines.get_mut(&line) else { continue };
            waiting.turn = Some(self.next_turn);
            self.turns.insert(self.next_turn, line);
            self.next_turn += 1;
            if shared.capacity.is_some() {
                // It may have to wait for a permit, for less long than it knows.
                waiting.has_news();
                self.tell(shared, line);
            }
        }
    }

    /// Lets the first in line wait for its tokens. The line has no turn until then.
    fn await_tokens(&mut self, shared: &Shared, line: usize) {
        let wants = self.wants(shared, line);
        if let Some(turn) = self.lines.get_mut(&line).and_then(|line| line.turn.take()) {
            self.turns.remove(&turn);
        }
        self.shares.want(line, wants);
    }

    /// Lets the first in line wait for its tokens, unless it has them: then the
    /// line keeps its turn.
    fn keep_turn(&mut self, shared: &Shared, line: usize) {
        let has_turn = self.lines.get(&line).is_some_and(|line| line.turn.is_some());
        let wants = self.wants(shared, line);
        if !has_turn || wants.is_none_or(|wants| self.shares.held(line) < wants) {
            self.await_tokens(shared, line);
        }
    }

    /// What a share has to hold for the first in its line.
    fn wants(&self, shared: &Shared, line: usize) -> Option<u128> {
        let least = shared.scheme.threshold.map_or(0, |threshold| threshold + 1);
        self.lines.get(&line).and_then(Line::first_cost).map(|cost| cost.max(least))
    }

    /// Wakes the first in line where it waits for a later time than it has to.
    fn tell(&mut self, shared: &Shared, line: usize) {
        if let Some(waiting) = self.lines.get(&line)
            && waiting.first_knows_less()
            && let Some(cost) = waiting.first_cost()
            && let Some(at) = self.when(shared, line, cost, Sum::default())
            && let Some(waiting) = self.lines.get_mut(&line)
        {
            self.woken.extend(waiting.wake_first(at));
        }
    }

    /// After a place was removed from a line.
    fn moved_up(&mut self, shared: &Shared, line: usize) {
        self.tell(shared, line);
        let Some(waiting) = self.lines.get(&line) else { return };
        self.shares.queue(line, waiting.all().cost);
        if waiting.all().places == 0 {
            self.lines.remove(&line);
        }
        if self.lines.is_empty() {
            shared.income.fetch_and(!WAITED_FOR, Ordering::Relaxed);
        }
    }

    /// Since when the token is there, or the time when it will be; and a waker
    /// that is of no more use.
    pub(super) fn poll(
        &mut self,
        shared: &Shared,
        ticket: Ticket,
        cost: u128,
        waker: Waker,
    ) -> (Result<Nanos, Option<Nanos>>, Option<Waker>) {
        if let Some(granted) = self.served.remove(&ticket.number) {
            return (Ok(granted), Some(waker));
        }
        let ahead = self.lines.get(&ticket.line).map(|line| line.ahead(ticket.number));
        let at = ahead.and_then(|ahead| self.when(shared, ticket.line, cost, ahead));
        let unused = match self.lines.get_mut(&ticket.line) {
            Some(line) => line.tell(ticket.number, at, waker),
            None => Some(waker),
        };
        (Err(at), unused)
    }

    /// Gives up a place in line, or the token that it led to.
    pub(super) fn give_up(
        &mut self,
        shared: &Shared,
        slot: &Arc<Slot>,
        ticket: Ticket,
        cost: u128,
    ) -> Option<Waker> {
        if let Some(granted) = self.served.remove(&ticket.number) {
            self.give(shared, slot, cost, Some(granted));
            return None;
        }
        let waker = self.lines.get_mut(&ticket.line)?.give_up(ticket.number);
        self.keep_turn(shared, ticket.line);
        self.moved_up(shared, ticket.line);
        self.serve(shared);
        waker
    }

    /// Gives back what a retry took. One that was granted at `not_made` and not
    /// made has not used the capacity either.
    pub(super) fn give(
        &mut self,
        shared: &Shared,
        slot: &Arc<Slot>,
        grains: u128,
        not_made: Option<Nanos>,
    ) {
        match self.current(shared, slot).place() {
            AWAY => self.shares.pour(grains),
            place => self.shares.give(place, grains),
        }
        if let Some(granted) = not_made {
            self.retries.forget(granted);
        }
        self.serve(shared);
    }
}

#[cfg(all(test, not(retry_loom)))]
impl Book {
    /// What holds of the lines between two calls.
    pub(super) fn judge_lines(&mut self, shared: &Shared) -> Result<(), &'static str> {
        let mut promised = 0;
        let lines: Vec<usize> = self.lines.keys().copied().collect();
        for &at in &lines {
            let line = &self.lines[&at];
            promised += line.all().cost;
            let (turn, knows_none) = (line.turn, line.first_knows_no_time());
            let wants = self.wants(shared, at).ok_or("a line is empty")?;
            let is_content = self.shares.held(at) >= wants;
            if is_content != turn.is_some() {
                return Err("a turn without tokens, or tokens without a turn");
            }
            if turn.is_some_and(|turn| self.turns.get(&turn) != Some(&at)) {
                return Err("a turn is another's");
            }
            if knows_none && self.when(shared, at, wants, Sum::default()).is_some() {
                return Err("the first in line waits without end");
            }
        }
        let turns = self.lines.values().filter(|line| line.turn.is_some()).count();
        if turns != self.turns.len() {
            return Err("a turn is nobody's");
        }
        let has_room = |it: &Capacity| it.has_room(&self.retries, self.time);
        if turns > 0 && shared.capacity.as_ref().is_none_or(has_room) {
            return Err("who could be served is not");
        }
        let least = self.shares.count() * shared.scheme.least;
        if self.shares.total() > shared.scheme.size + least + promised + TOKEN {
            return Err("more is held than fits");
        }
        let waited_for = shared.income.load(Ordering::Relaxed) & WAITED_FOR != 0;
        if waited_for == lines.is_empty() {
            return Err("who brings something in does not know whether someone waits");
        }
        Ok(())
    }
}
