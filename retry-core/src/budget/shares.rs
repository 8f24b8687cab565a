//! Who holds how much of a budget: the fair share, as a pure state machine.
//!
//! The bucket is divided among the callers and one more: the stock `r`, one
//! part of n + 1, which is filled first, never lent, and handed to the next
//! caller who joins. The rest is cut by weight into one share a caller, and
//! every share fills at its weight's part of what comes in. A share that is
//! full takes no part, so that what its caller leaves unused runs to the
//! others: that is the lending. What comes in when everything is full is lost,
//! as in any bucket.
//!
//! A caller is refused only when its own share holds less than one retry. Since
//! the callers last changed, it then has had its weight's part of all that came
//! in beyond the stock, but for that last token and for what it left unused
//! while its share was full: the bound of the module's documentation.
//!
//! Nothing is divided among all at every drop. One level rises, in grains a
//! unit of weight, and a caller's share is what it held at its mark and its
//! weight times the rise since. Callers who are not full stand in the order of
//! the levels at which they will be: a drop moves past those that it fills, and
//! no others. What is smaller than one step of the level is carried over to the
//! next drop, so nothing is lost to rounding. Callers who wait stand likewise in
//! the order of the levels at which they hold what they wait for.

use std::collections::BTreeSet;

/// One token, in grains. A floor of one token a second is 2³² grains a
/// nanosecond, and a ratio has nine decimals: both are whole numbers.
pub(super) const TOKEN: u128 = 1_000_000_000 << 32;

#[derive(Debug)]
pub(super) struct Shares {
    size: u128,
    /// Whether each caller has a share of its own. If not, one member holds all.
    fair: bool,
    /// No share of several is smaller than this: two retries of the dearest
    /// kind. With room for one alone, a caller that always asks would lose what
    /// a drop brings beyond it.
    least: u128,
    stock: u128,
    /// Grains a unit of weight since the callers last changed.
    level: u128,
    /// Less than one step of the level.
    carry: u128,
    members: Vec<Option<Member>>,
    vacant: Vec<usize>,
    count: u128,
    weight: u128,
    /// The weight of those whose share is not full.
    rising_weight: u128,
    /// Where each of those will be full.
    rising: BTreeSet<(u128, usize)>,
    /// Where each of those who wait will hold what it wants.
    awaited: BTreeSet<(u128, usize)>,
}

#[derive(Debug)]
struct Member {
    weight: u128,
    share: u128,
    /// What its waiting retries will cost: room beside the share.
    queued: u128,
    held: u128,
    /// The level at which `held` was right.
    mark: u128,
    full_at: Option<u128>,
    /// What it waits for.
    wants: Option<u128>,
    awaited_at: Option<u128>,
}

impl Member {
    const fn limit(&self) -> u128 {
        if self.share > self.queued { self.share } else { self.queued }
    }
}

impl Shares {
    pub(super) fn new(size: u128, fair: bool, least: u128, start: u128) -> Self {
        Self {
            size,
            fair,
            least,
            stock: start,
            level: 0,
            carry: 0,
            members: Vec::new(),
            vacant: Vec::new(),
            count: 0,
            weight: 0,
            rising_weight: 0,
            rising: BTreeSet::new(),
            awaited: BTreeSet::new(),
        }
    }

    /// The callers who have a share.
    pub(super) const fn count(&self) -> u128 {
        self.count
    }

    /// What all hold together.
    pub(super) fn total(&self) -> u128 {
        let held = |member: &Member| match member.full_at {
            Some(_) => member.held + member.weight * (self.level - member.mark),
            None => member.held,
        };
        self.stock + self.carry + self.members.iter().flatten().map(held).sum::<u128>()
    }

    /// All that is in, without the stock, which only a new caller finds.
    pub(super) fn beside_stock(&self) -> u128 {
        self.total().saturating_sub(self.stock)
    }

    /// Adds a caller, who finds the stock at once; the first one has nobody to
    /// share with and finds what is beyond it.
    pub(super) fn join(&mut self, weight: u32) -> usize {
        let weight = u128::from(weight);
        let found = if self.count == 0 { 0 } else { self.stock };
        self.settle_all();
        let member = Member {
            weight,
            share: 0,
            queued: 0,
            held: 0,
            mark: 0,
            full_at: None,
            wants: None,
            awaited_at: None,
        };
        let at = match self.vacant.pop() {
            Some(at) => {
                self.members[at] = Some(member);
                at
            }
            None => {
                self.members.push(Some(member));
                self.members.len() - 1
            }
        };
        self.count += 1;
        self.weight += weight;
        let found = found.min(self.share_of(weight));
        self.stock -= found;
        if let Some(member) = &mut self.members[at] {
            member.held = found;
        }
        self.divide(0);
        at
    }

    /// Removes a caller; what it holds runs to the stock and the others.
    pub(super) fn leave(&mut self, at: usize) {
        self.settle_all();
        if let Some(member) = self.members.get_mut(at).and_then(Option::take) {
            self.vacant.push(at);
            self.count -= 1;
            self.weight -= member.weight;
            self.divide(member.held);
        }
    }

    /// Lets tokens in: the stock first, then the shares by weight.
    pub(super) fn pour(&mut self, grains: u128) {
        let kept = grains.min(self.stock_limit().saturating_sub(self.stock));
        self.stock += kept;
        let mut left = (grains - kept) + std::mem::take(&mut self.carry);
        while let Some(&(full_at, at)) = self.rising.first() {
            // Where the product saturates, the level does not get there.
            let need = (full_at - self.level).saturating_mul(self.rising_weight);
            if left < need {
                self.level += left / self.rising_weight;
                self.carry = left % self.rising_weight;
                return;
            }
            left -= need;
            self.level = full_at;
            left += self.fill(at);
        }
    }

    /// What a caller holds.
    pub(super) fn held(&mut self, at: usize) -> u128 {
        self.settle(at);
        self.members[at].as_ref().map_or(0, |member| member.held)
    }

    /// Takes from a caller's share what is there, `grains` at most.
    pub(super) fn charge(&mut self, at: usize, grains: u128) {
        self.settle(at);
        if let Some(member) = &mut self.members[at] {
            member.held = member.held.saturating_sub(grains);
        }
        self.place(at);
    }

    /// Gives back to a caller's share, and to the others what has no room in it.
    pub(super) fn give(&mut self, at: usize, grains: u128) {
        self.settle(at);
        let mut beyond = grains;
        if let Some(member) = &mut self.members[at] {
            let kept = grains.min(member.limit().saturating_sub(member.held));
            member.held += kept;
            beyond -= kept;
        }
        self.place(at);
        self.pour(beyond);
    }

    /// Makes room for what a caller's waiting retries will cost, and for no
    /// more: what those leave who wait no longer runs to the others.
    pub(super) fn queue(&mut self, at: usize, grains: u128) {
        self.settle(at);
        if let Some(member) = &mut self.members[at] {
            member.queued = grains;
        }
        let beyond = self.cut(at);
        self.place(at);
        self.pour(beyond);
    }

    /// From now on it is said when a caller holds `grains`, which its share or its
    /// line has room for; or not any more.
    pub(super) fn want(&mut self, at: usize, grains: Option<u128>) {
        self.settle(at);
        if let Some(member) = &mut self.members[at] {
            member.wants = grains;
        }
        self.place(at);
    }

    /// The next caller who holds what it wants, each once: it wants no more.
    pub(super) fn next_content(&mut self) -> Option<usize> {
        let &(_, at) = self.awaited.first().filter(|(level, _)| *level <= self.level)?;
        self.want(at, None);
        Some(at)
    }

    /// What has to come in, at most, before a caller holds `grains`: its weight's
    /// part of it is enough, whatever the others take.
    pub(super) fn shortfall(&mut self, at: usize, grains: u128) -> u128 {
        let missing = grains.saturating_sub(self.held(at));
        let Some(member) = self.members[at].as_ref().filter(|_| missing > 0) else {
            return 0;
        };
        let stock = self.stock_limit().saturating_sub(self.stock);
        let rise = missing.div_ceil(member.weight);
        rise.saturating_mul(self.weight).saturating_sub(self.carry).saturating_add(stock)
    }

    fn stock_limit(&self) -> u128 {
        match (self.count, self.fair) {
            (0, _) => self.size,
            (count, true) => self.size / (count + 1),
            (_, false) => 0,
        }
    }

    fn share_of(&self, weight: u128) -> u128 {
        let all = (self.size - self.stock_limit()) * weight;
        // Rounded up: a grain too few is a retry too few where a share is whole.
        all.div_ceil(self.weight).max(if self.fair { self.least } else { 0 })
    }

    /// Brings a caller's share up to the level.
    fn settle(&mut self, at: usize) {
        if let Some(member) = &mut self.members[at] {
            if member.full_at.is_some() {
                member.held += member.weight * (self.level - member.mark);
            }
            member.mark = self.level;
        }
    }

    /// Puts a settled caller among those that rise, or not, and among those who
    /// wait.
    fn place(&mut self, at: usize) {
        let Some(member) = &mut self.members[at] else { return };
        if let Some(full_at) = member.full_at.take() {
            self.rising.remove(&(full_at, at));
            self.rising_weight -= member.weight;
        }
        if let Some(room) = member.limit().checked_sub(member.held).filter(|&room| room > 0) {
            let full_at = self.level + room.div_ceil(member.weight);
            member.full_at = Some(full_at);
            self.rising.insert((full_at, at));
            self.rising_weight += member.weight;
        }
        if let Some(level) = member.awaited_at.take() {
            self.awaited.remove(&(level, at));
        }
        if let Some(wants) = member.wants {
            let missing = wants.saturating_sub(member.held);
            let level = self.level + missing.div_ceil(member.weight);
            member.awaited_at = Some(level);
            self.awaited.insert((level, at));
        }
    }

    /// Ends the rise of a caller whose share is full, and returns what the last
    /// step of the level was too much.
    fn fill(&mut self, at: usize) -> u128 {
        self.settle(at);
        let beyond = self.cut(at);
        self.place(at);
        beyond
    }

    fn cut(&mut self, at: usize) -> u128 {
        let Some(member) = &mut self.members[at] else { return 0 };
        let beyond = member.held.saturating_sub(member.limit());
        member.held -= beyond;
        beyond
    }

    fn settle_all(&mut self) {
        (0..self.members.len()).for_each(|at| self.settle(at));
    }

    /// Cuts the bucket anew after the callers changed, and lets in again what no
    /// longer has a place.
    fn divide(&mut self, mut beyond: u128) {
        self.level = 0;
        self.rising.clear();
        self.rising_weight = 0;
        self.awaited.clear();
        beyond += self.stock.saturating_sub(self.stock_limit());
        self.stock = self.stock.min(self.stock_limit());
        for at in 0..self.members.len() {
            let Some(weight) = self.members[at].as_ref().map(|member| member.weight) else {
                continue;
            };
            let share = self.share_of(weight);
            if let Some(member) = &mut self.members[at] {
                member.share = share;
                member.mark = 0;
                (member.full_at, member.awaited_at) = (None, None);
            }
            beyond += self.cut(at);
            self.place(at);
        }
        self.pour(beyond);
    }
}

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lets a caller take one token, if it holds one.
    fn take(shares: &mut Shares, at: usize) -> bool {
        let enough = shares.held(at) >= TOKEN;
        if enough {
            shares.charge(at, TOKEN);
        }
        enough
    }

    fn take_all(shares: &mut Shares, at: usize) -> u128 {
        std::iter::repeat_with(|| take(shares, at)).take_while(|&taken| taken).count() as u128
    }

    fn full(size: u128) -> Shares {
        Shares::new(size * TOKEN, true, 2 * TOKEN, size * TOKEN)
    }

    #[test]
    fn a_flood_leaves_the_quiet_theirs_and_gets_what_they_do_not_use() {
        let mut shares = full(100);
        let [flood, one, two] = [1, 1, 1].map(|weight| shares.join(weight));
        shares.pour(100 * TOKEN);
        assert_eq!(take_all(&mut shares, flood), 25);
        // Both quiet ones are full: all that comes in is lent.
        shares.pour(20 * TOKEN);
        assert_eq!(take_all(&mut shares, flood), 20);
        assert_eq!(take_all(&mut shares, one), 25);
        assert_eq!(take_all(&mut shares, two), 25);
        shares.pour(3 * TOKEN);
        assert_eq!([flood, one, two].map(|at| take_all(&mut shares, at)), [1, 1, 1]);
    }

    #[test]
    fn what_one_leaves_is_shared_by_weight() {
        let mut shares = full(100);
        let [quiet, light, heavy] = [1, 1, 3].map(|weight| shares.join(weight));
        shares.pour(100 * TOKEN);
        for at in [light, heavy] {
            take_all(&mut shares, at);
        }
        shares.pour(20 * TOKEN);
        assert_eq!(take_all(&mut shares, light), 5);
        assert_eq!(take_all(&mut shares, heavy), 15);
        assert_eq!(take_all(&mut shares, quiet), 15);
    }

    #[test]
    fn a_new_caller_finds_the_stock_when_all_else_is_taken() {
        let mut shares = full(100);
        let old = [1, 1, 1].map(|weight| shares.join(weight));
        shares.pour(100 * TOKEN);
        for at in old {
            take_all(&mut shares, at);
        }
        let new = shares.join(1);
        assert_eq!(take_all(&mut shares, new), 20);
        // What is left of the old stock, and what comes in, is the next one's.
        shares.pour(15 * TOKEN);
        let next = shares.join(1);
        assert_eq!(take_all(&mut shares, next), 16);
    }

    #[test]
    fn what_a_caller_leaves_behind_goes_to_the_others() {
        let mut shares = full(90);
        let [stays, leaves] = [1, 1].map(|weight| shares.join(weight));
        shares.pour(90 * TOKEN);
        assert_eq!(take_all(&mut shares, stays), 30);
        shares.leave(leaves);
        // Of 60 the larger stock keeps 45.
        assert_eq!(take_all(&mut shares, stays), 15);
        shares.leave(stays);
        assert_eq!(shares.total(), 45 * TOKEN);
    }

    #[test]
    fn a_bucket_that_is_full_stays_full_whoever_joins() {
        let mut shares = full(100);
        shares.pour(100 * TOKEN);
        for weight in 1..60 {
            shares.join(weight);
            let lost = (100 * TOKEN).saturating_sub(shares.total());
            assert_eq!(lost, 0, "weight {weight}");
        }
    }

    #[test]
    fn with_more_callers_than_tokens_each_has_room_for_two() {
        let mut shares = full(10);
        let callers: Vec<usize> = (0..1000).map(|_| shares.join(1)).collect();
        shares.pour(3000 * TOKEN);
        assert!(callers.into_iter().all(|at| take_all(&mut shares, at) == 2));
    }

    #[test]
    fn a_share_holds_what_its_line_costs_and_no_longer_than_that() {
        let mut shares = full(30);
        let [waits, other] = [1, 1].map(|weight| shares.join(weight));
        shares.queue(waits, 50 * TOKEN);
        shares.pour(1000 * TOKEN);
        assert_eq!(shares.held(waits), 50 * TOKEN);
        assert_eq!(take_all(&mut shares, other), 10);
        shares.queue(waits, 42 * TOKEN);
        // What the eight leave is lent, as all that finds a share full.
        assert_eq!(take_all(&mut shares, other), 8);
        shares.queue(waits, 0);
        assert_eq!((shares.held(waits), shares.held(other)), (10 * TOKEN, 10 * TOKEN));
        assert_eq!(shares.total(), 30 * TOKEN);
    }

    #[test]
    fn who_waits_is_named_once_it_holds_what_it_wants() {
        let mut shares = Shares::new(300 * TOKEN, true, 2 * TOKEN, 0);
        let [first, second] = [1, 2].map(|weight| shares.join(weight));
        shares.pour(100 * TOKEN);
        shares.want(first, Some(2 * TOKEN));
        shares.want(second, Some(6 * TOKEN));
        shares.pour(6 * TOKEN - 1);
        assert_eq!(shares.next_content(), None);
        shares.pour(1);
        assert_eq!((shares.next_content(), shares.next_content()), (Some(first), None));
        // A third caller finds the stock; what the others hold stays, as the order.
        let third = shares.join(1);
        assert_eq!(shares.next_content(), None);
        shares.want(third, Some(TOKEN));
        assert_eq!((shares.next_content(), shares.next_content()), (Some(third), None));
        shares.charge(second, TOKEN);
        shares.want(first, Some(3 * TOKEN));
        shares.pour(300 * TOKEN);
        assert_eq!([(); 3].map(|()| shares.next_content()), [Some(first), Some(second), None]);
        shares.want(first, Some(TOKEN));
        shares.leave(first);
        assert_eq!(shares.next_content(), None);
    }

    #[test]
    fn nothing_is_lost_to_rounding() {
        let mut shares = Shares::new(1000 * TOKEN, true, 2 * TOKEN, 0);
        for weight in [7, 11, 13] {
            shares.join(weight);
        }
        for _ in 0..10_000 {
            shares.pour(12_345);
        }
        assert_eq!(shares.total(), 123_450_000);
    }

    #[test]
    fn a_shortfall_is_enough_and_no_more() {
        let mut shares = Shares::new(100 * TOKEN, true, 2 * TOKEN, 0);
        let [one, other] = [1, 3].map(|weight| shares.join(weight));
        let needed = shares.shortfall(one, TOKEN);
        // The stock's third, and the token's four quarters.
        assert_eq!(needed / TOKEN, 37);
        shares.pour(needed - 4);
        take_all(&mut shares, other);
        assert!(!take(&mut shares, one));
        shares.pour(4);
        assert!(take(&mut shares, one));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Pour(u64),
        Ask { who: usize, times: u8 },
        Join(u32),
        Leave(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => (0..=TOKEN as u64).prop_map(Step::Pour),
            8 => (0..8_usize, 1..20_u8).prop_map(|(who, times)| Step::Ask { who, times }),
            1 => (1..9_u32).prop_map(Step::Join),
            1 => (0..8_usize).prop_map(Step::Leave),
        ];
        proptest::collection::vec(step, 0..300)
    }

    /// A caller, and the bucket that it has when nobody lends it anything.
    struct Known {
        at: usize,
        weight: u128,
        /// In grains times the sum of the weights.
        own: u128,
        got: u128,
        refused: bool,
        always_asks: bool,
    }

    proptest! {
        /// The reference gives each caller its weight's part of all that comes
        /// in beyond the stock, into a bucket of its own, and lends nothing. Who
        /// is refused has less than one token there, too.
        #[test]
        fn nobody_is_refused_what_its_own_bucket_would_hold(
            size in 1..200_u128,
            weights in proptest::collection::vec(1..9_u32, 1..6),
            greedy in 0..6_usize,
            steps in steps(),
        ) {
            let size = size * TOKEN;
            let mut shares = Shares::new(size, true, 2 * TOKEN, size / 2);
            let mut callers: Vec<Known> = Vec::new();
            let (mut came, mut granted) = (size / 2, 0);
            let mut swallowed = 0_u128;
            let mut since = 0_u128;
            let joins = weights.into_iter().map(Step::Join);
            for step in joins.chain(steps) {
                let all: u128 = callers.iter().map(|caller| caller.weight).sum();
                let stock = size / (callers.len() as u128 + 1);
                match step {
                    Step::Join(weight) => {
                        let at = shares.join(weight);
                        let always_asks = callers.len() == greedy;
                        callers.push(Known {
                            at, weight: weight.into(), own: 0, got: 0, refused: false, always_asks,
                        });
                    }
                    Step::Leave(who) => {
                        if callers.is_empty() { continue }
                        let who = who % callers.len();
                        shares.leave(callers.remove(who).at);
                    }
                    Step::Pour(grains) => {
                        let grains = u128::from(grains);
                        came += grains;
                        since += grains;
                        shares.pour(grains);
                        let kept = grains.min(stock.saturating_sub(swallowed));
                        swallowed += kept;
                        for caller in &mut callers {
                            let room = ((size - stock) * caller.weight).max(2 * TOKEN * all);
                            caller.own = (caller.own + (grains - kept) * caller.weight).min(room);
                        }
                    }
                    Step::Ask { who, times } => {
                        if callers.is_empty() { continue }
                        let who = who % callers.len();
                        for _ in 0..times {
                            let caller = &mut callers[who];
                            caller.refused = !take(&mut shares, caller.at);
                            if caller.refused {
                                prop_assert!(caller.own < (TOKEN + all) * all, "{}", caller.own / all);
                            } else {
                                granted += 1;
                                caller.got += 1;
                                caller.own = caller.own.saturating_sub(TOKEN * all);
                            }
                        }
                    }
                }
                if matches!(step, Step::Join(_) | Step::Leave(_)) {
                    swallowed = 0;
                    since = 0;
                    for caller in &mut callers {
                        (caller.own, caller.got) = (0, 0);
                    }
                }
                // Who never stops asking gets its weight's part of it all, to the letter.
                let all: u128 = callers.iter().map(|caller| caller.weight).sum();
                let stock = size / (callers.len() as u128 + 1);
                for caller in callers.iter_mut().filter(|caller| caller.always_asks) {
                    while take(&mut shares, caller.at) {
                        granted += 1;
                        caller.got += 1;
                        caller.own = caller.own.saturating_sub(TOKEN * all);
                    }
                    let due = since.saturating_sub(stock) * caller.weight;
                    prop_assert!((caller.got + 1) * TOKEN * all + all * all >= due);
                }
                prop_assert!(granted * TOKEN + shares.total() <= came);
                let share = |caller: &Known| ((size - stock) * caller.weight / all).max(2 * TOKEN);
                prop_assert!(shares.total() <= stock + callers.iter().map(share).sum::<u128>() + all);
            }
        }

        #[test]
        fn a_new_caller_finds_the_stock_in_any_state(
            size in 50..200_u128,
            callers in 1..6_usize,
            steps in steps(),
        ) {
            let mut shares = full(size);
            let callers: Vec<usize> = (0..callers).map(|_| shares.join(1)).collect();
            // Fills the stock, whatever was taken from it by joining.
            shares.pour(size * TOKEN);
            for step in steps {
                match step {
                    Step::Pour(grains) => shares.pour(grains.into()),
                    Step::Ask { who, .. } => { take_all(&mut shares, callers[who % callers.len()]); }
                    Step::Join(_) | Step::Leave(_) => {}
                }
            }
            let new = shares.join(1);
            prop_assert!(shares.held(new) >= size * TOKEN / (callers.len() as u128 + 2));
        }
    }
}
