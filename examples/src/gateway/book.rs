//! What the gateway has on record: the only truth about who was charged.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// The payload of `POST /charges`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// What is charged.
    pub order: String,
    /// Who pays.
    pub account: String,
    /// In cents.
    pub amount: u64,
}

/// What the book knows about a key when a call comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Nothing, or the finished charge: go on.
    Free,
    /// An earlier call with the key is still at work.
    InFlight,
    /// The key came with another payload before.
    OtherPayload,
}

/// The book, shared by all connections. One key is booked once; two keys for
/// one order are booked twice, because nobody can see that they are one.
#[derive(Debug, Default)]
pub struct Book(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    entries: Vec<Entry>,
    keys: HashMap<String, Key>,
    labels: HashMap<String, u32>,
    statements: BTreeMap<String, Statement>,
    charge_calls: HashMap<String, u32>,
    balance_calls: HashMap<String, u32>,
    label_calls: HashMap<String, u32>,
}

#[derive(Debug)]
struct Entry {
    key: String,
    charge: Charge,
}

#[derive(Debug)]
struct Key {
    charge: Charge,
    booked: bool,
}

/// What the book says about one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// The key.
    pub key: String,
    /// The order that came with it first.
    pub order: String,
    /// Whether it was charged.
    pub charged: bool,
    /// Each call, in the order of arrival: which attempt it said that it is.
    pub attempts: Vec<Option<u32>>,
}

/// The book in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Orders that a call came in for.
    pub orders: usize,
    /// Calls received at `/charges`.
    pub calls: u64,
    /// Charges booked.
    pub booked: usize,
    /// Orders booked at least once.
    pub charged: usize,
    /// Orders booked more than once.
    pub duplicates: usize,
    /// Calls received at `/balance`.
    pub balance_calls: u64,
    /// Calls received at `/labels`.
    pub label_calls: u64,
    /// Parcels with a label.
    pub labelled: usize,
    /// Parcels with more than one label.
    pub label_duplicates: usize,
}

impl Book {
    /// The number, from 1, of this call to charge an order.
    pub(crate) fn charge_called(&self, order: &str) -> u32 {
        count(&mut self.pages().charge_calls, order)
    }

    /// The number, from 1, of this call for an account's balance.
    pub(crate) fn balance_called(&self, account: &str) -> u32 {
        count(&mut self.pages().balance_calls, account)
    }

    /// The number, from 1, of this call to label a parcel.
    pub(crate) fn label_called(&self, parcel: &str) -> u32 {
        count(&mut self.pages().label_calls, parcel)
    }

    /// Notes a call with a key, and which attempt it says that it is.
    pub(crate) fn note(&self, key: &str, order: &str, attempt: Option<u32>) {
        let mut pages = self.pages();
        let statement = pages.statements.entry(key.to_owned()).or_insert_with(|| Statement {
            key: key.to_owned(),
            order: order.to_owned(),
            charged: false,
            attempts: Vec::new(),
        });
        statement.attempts.push(attempt);
    }

    /// What it says about each key that a call came with.
    pub(crate) fn statements(&self) -> Vec<Statement> {
        let pages = self.pages();
        let is_charged = |key: &String| pages.keys.get(key).is_some_and(|key| key.booked);
        let statements = pages.statements.iter();
        statements
            .map(|(key, statement)| Statement { charged: is_charged(key), ..statement.clone() })
            .collect()
    }

    /// Looks a key up. The payload is compared before the work in progress.
    pub(crate) fn open(&self, key: &str, charge: &Charge) -> Opening {
        match self.pages().keys.get(key) {
            Some(known) if known.charge != *charge => Opening::OtherPayload,
            Some(Key { booked: false, .. }) => Opening::InFlight,
            Some(Key { booked: true, .. }) | None => Opening::Free,
        }
    }

    /// Marks a key as in flight until it is booked.
    pub(crate) fn begin(&self, key: &str, charge: &Charge) {
        let mut pages = self.pages();
        let known = pages.keys.entry(key.to_owned());
        known.or_insert_with(|| Key { charge: charge.clone(), booked: false });
    }

    /// Books the charge, once a key.
    pub(crate) fn charge(&self, key: &str, charge: &Charge) {
        let mut pages = self.pages();
        let known = pages.keys.entry(key.to_owned());
        let known = known.or_insert_with(|| Key { charge: charge.clone(), booked: false });
        if std::mem::replace(&mut known.booked, true) {
            return;
        }
        pages.entries.push(Entry { key: key.to_owned(), charge: charge.clone() });
    }

    /// Prints a label: each call prints one.
    pub(crate) fn label(&self, parcel: &str) {
        *self.pages().labels.entry(parcel.to_owned()).or_default() += 1;
    }

    /// What was charged to an account, in cents.
    pub(crate) fn balance(&self, account: &str) -> u64 {
        let pages = self.pages();
        let charges = pages.entries.iter().map(|entry| &entry.charge);
        charges.filter(|charge| charge.account == account).map(|charge| charge.amount).sum()
    }

    /// The orders that were booked, each with the keys that it was booked
    /// under: with two keys, it was booked twice.
    pub fn charged(&self) -> BTreeMap<String, Vec<String>> {
        let mut charged: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Entry { key, charge } in &self.pages().entries {
            charged.entry(charge.order.clone()).or_default().push(key.clone());
        }
        charged
    }

    /// The book in numbers.
    pub fn summary(&self) -> Summary {
        let charged = self.charged();
        let pages = self.pages();
        let calls = |calls: &HashMap<String, u32>| calls.values().copied().map(u64::from).sum();
        Summary {
            orders: pages.charge_calls.len(),
            calls: calls(&pages.charge_calls),
            booked: pages.entries.len(),
            charged: charged.len(),
            duplicates: charged.values().filter(|keys| keys.len() > 1).count(),
            balance_calls: calls(&pages.balance_calls),
            label_calls: calls(&pages.label_calls),
            labelled: pages.labels.len(),
            label_duplicates: pages.labels.values().filter(|labels| **labels > 1).count(),
        }
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(calls: &mut HashMap<String, u32>, subject: &str) -> u32 {
    let calls = calls.entry(subject.to_owned()).or_default();
    *calls += 1;
    *calls
}
