//! Operations as `--json` prints them. The README has every field.

use std::time::Duration;

use retry_core::record::{Entry, Head, Phase, Timestamp};
use retry_core::{Policy, Safety};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// What a record's entries come to.
#[derive(Serialize)]
pub(crate) struct HeadForm<'a> {
    record: String,
    operation: String,
    name: &'a str,
    key: Option<String>,
    phase: &'static str,
    attempts: u32,
    max_attempts: u32,
    last_attempt: u32,
    crashes: u32,
    deferrals: u32,
    hints: u32,
    elapsed_ns: u64,
    deadline_ns: u64,
    planned_ns: Option<u64>,
    due_at: Option<String>,
    due_reason: Option<&'static str>,
    lease: Option<LeaseForm>,
    epoch: u64,
    stop: Option<StopForm<'a>>,
    last_error: Option<&'a str>,
    safety: Safety,
    policy: &'a Policy,
    rules: u32,
    fingerprint: String,
    queue: &'a str,
    code_version: Option<&'a str>,
    entries_count: u32,
    created_at: String,
    updated_at: String,
    expires_at: Option<String>,
}

#[derive(Serialize)]
struct LeaseForm {
    holder: String,
    worker: String,
    until: String,
}

#[derive(Serialize)]
struct StopForm<'a> {
    reason: &'static str,
    text: &'a str,
}

impl<'a> HeadForm<'a> {
    pub(crate) fn of(head: &'a Head) -> Self {
        Self {
            record: head.record.to_string(),
            operation: head.operation.to_string(),
            name: head.operation.name(),
            key: head.operation.key().map(|key| key.to_string()),
            phase: head.phase.as_str(),
            attempts: head.attempts(),
            max_attempts: head.policy.get_max_attempts(),
            last_attempt: head.started,
            crashes: head.crashes,
            deferrals: head.deferrals,
            hints: head.hints,
            elapsed_ns: nanos(head.elapsed),
            deadline_ns: nanos(head.policy.get_deadline()),
            planned_ns: head.planned.map(nanos),
            due_at: matches!(head.phase, Phase::Ready | Phase::Parked).then(|| time(head.due_at)),
            due_reason: head.due_reason.map(|reason| reason.code()),
            lease: head.lease.held.map(|(holder, until)| LeaseForm {
                holder: holder.to_string(),
                worker: holder.worker().to_string(),
                until: time(until),
            }),
            epoch: head.lease.epoch,
            stop: head
                .stop
                .as_ref()
                .map(|stop| StopForm { reason: stop.reason.code(), text: &stop.text }),
            last_error: head.last_error.as_deref(),
            safety: head.safety,
            policy: &head.policy,
            rules: head.rules,
            fingerprint: head.fingerprint.to_string(),
            queue: &head.queue,
            code_version: head.code_version.as_deref(),
            entries_count: head.seq,
            created_at: time(head.created_at),
            updated_at: time(head.updated_at),
            expires_at: head.expires_at().map(time),
        }
    }
}

/// One entry of a record.
#[derive(Serialize)]
pub(crate) struct EntryForm<'a> {
    seq: u32,
    at: String,
    epoch: u64,
    attempt: u32,
    text: String,
    event: Json<'a>,
}

impl<'a> EntryForm<'a> {
    pub(crate) fn of(entry: &'a Entry) -> Self {
        Self {
            seq: entry.seq(),
            at: time(entry.at()),
            epoch: entry.epoch(),
            attempt: entry.attempt(),
            text: entry.event().to_string(),
            event: Json(entry.body()),
        }
    }
}

/// A text that is JSON, as it is; any other as a string.
pub(crate) struct Json<'a>(pub(crate) &'a str);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(self.0) {
            Ok(json) => json.serialize(serializer),
            Err(_) => self.0.serialize(serializer),
        }
    }
}

/// Whatever is kept fits: it is clamped to 292 years.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn time(at: Timestamp) -> String {
    at.rfc3339().to_string()
}
