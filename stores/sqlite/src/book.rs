//! What is kept, as one transaction sees it.

use retry_core::record::{
    Applied, Arguments, Change, Checksum, Entry, EntryColumns, Head, New, Phase, RULES, Record,
    RecordError, RecordId, Refused, Timestamp,
};
use retry_core::store::{Claimed, Due, Enqueued, Limits, List, StoreError, Write};
use retry_core::{IdempotencyKey, OperationId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::row::{self, ENTRY, HEAD, HEAD_LEN, Policies, count, nanos};

/// Of SQLite: the transaction cannot go on.
pub(crate) type Sql<T> = Result<T, rusqlite::Error>;

/// Of what is kept, or of what is asked: nothing was written, and the
/// transaction goes on.
pub(crate) type Kept<T> = Sql<Result<T, StoreError>>;

/// What is due, behind a place in that order. The index is named: to the planner, which
/// knows nothing of the values, another one looks as good.
const DUE: &str = "SELECT due_at, id FROM operation INDEXED BY operation_due \
     WHERE queue = ? AND due_at <= ? AND state IN ('ready', 'parked') AND (due_at, id) > (?, ?) \
     ORDER BY due_at, id LIMIT ?";

/// Whose lease is over, behind a place in that order.
const LOST: &str = "SELECT lease_until, id FROM operation INDEXED BY operation_leased \
     WHERE lease_until <= ? AND state = 'leased' AND (lease_until, id) > (?, ?) \
     ORDER BY lease_until, id LIMIT ?";

/// What is done and has expired, behind a place in that order.
const EXPIRED: &str = "SELECT expires_at, id FROM operation INDEXED BY operation_expired \
     WHERE expires_at <= ? AND state = 'done' AND (expires_at, id) > (?, ?) \
     ORDER BY expires_at, id LIMIT ?";

/// Whose key has expired, and is not done, behind a place in that order.
const EXPIRED_KEYS: &str = "SELECT expires_at, operation FROM idempotency INDEXED BY idempotency_expired \
     WHERE expires_at <= ? AND state = 'failed' AND (expires_at, operation) > (?, ?) \
     ORDER BY expires_at, operation LIMIT ?";

/// What is kept, inside a transaction.
pub(crate) struct Book<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) now: Timestamp,
    pub(crate) policies: &'a Policies,
    pub(crate) limits: Limits,
    /// Records that nobody holds any more.
    pub(crate) freed: Vec<RecordId>,
}

impl Book<'_> {
    pub(crate) fn enqueue(&mut self, new: &New) -> Kept<Enqueued> {
        if let Some(record) = self.find(&new.operation)?.transpose() {
            return Ok(record.map(|record| Enqueued::Existing(Box::new(record))));
        }
        if let Err(error) = self.limits.check_arguments(&new.arguments) {
            return Ok(Err(error));
        }
        let (head, entries) = match new.apply(self.now) {
            Ok(applied) => applied,
            Err(error) => return Ok(Err(error.into())),
        };
        let policy = match row::policy_text(&head.policy) {
            Ok(policy) => policy,
            Err(error) => return Ok(Err(error.into())),
        };
        self.insert_operation(&head, &policy, &new.arguments)?;
        self.insert_entries(head.record, &entries)?;
        if let Some(key) = new.operation.key() {
            self.insert_key(&head, key)?;
        }
        Ok(Ok(Enqueued::New(Box::new(head))))
    }

    pub(crate) fn commit(&mut self, writes: &[Write]) -> Kept<Vec<Result<Head, Refused>>> {
        writes.iter().map(|write| self.apply(write)).collect::<Sql<Vec<_>>>().map(Ok)
    }

    pub(crate) fn claim(&mut self, due: &Due) -> Kept<Vec<Claimed>> {
        let mut claimed = Vec::new();
        let queue = due.queue.as_str();
        // An operation without a queue is gone on with by its own call.
        if queue.is_empty() {
            return Ok(Ok(claimed));
        }
        self.each_earliest(Earliest::Due(queue), due.limit, |book, record| {
            let change = Change::Claim { holder: due.holder, lease: due.lease };
            let Ok(read) = book.read_whole(record)? else { return Ok(Visited::Damaged) };
            let (head, arguments) = (read.head().clone(), read.arguments().clone());
            // One whose time is over is dead now, and claimed by nobody.
            if let Ok(head) = book.change(head, change)?
                && head.lease.held.is_some()
            {
                claimed.push(Claimed { head, arguments });
            }
            Ok(Visited::Whole)
        })?;
        Ok(Ok(claimed))
    }

    pub(crate) fn reclaim(&mut self, limit: usize) -> Kept<Vec<Head>> {
        let mut judged = Vec::new();
        self.each_earliest(Earliest::Lost, limit, |book, record| {
            let Ok(read) = book.read_whole(record)? else { return Ok(Visited::Damaged) };
            let head = read.head().clone();
            let change = Change::Reclaim { epoch: head.lease.epoch };
            judged.extend(book.change(head, change)?.ok());
            Ok(Visited::Whole)
        })?;
        Ok(Ok(judged))
    }

    /// The record that an id with a key stands for, if it has not expired.
    pub(crate) fn find(&self, operation: &OperationId) -> Kept<Option<Record>> {
        let record = match self.current(operation)? {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error.into())),
        };
        let damaged = |what: &str| Err(damaged(record, what).into());
        Ok(match self.record(record)? {
            Some(Ok(record)) if record.head().operation == *operation => Ok(Some(record)),
            Some(Ok(_)) => damaged("its key stands for another operation"),
            Some(Err(error)) => Err(error.into()),
            None => damaged("its key is there, and the record is not"),
        })
    }

    pub(crate) fn read(&self, record: RecordId) -> Kept<Option<Record>> {
        Ok(self.record(record)?.transpose().map_err(StoreError::from))
    }

    pub(crate) fn list(&self, list: &List) -> Kept<Vec<Head>> {
        let mut sql = format!("SELECT {HEAD} FROM operation WHERE true");
        let mut values = Vec::new();
        if let Some(name) = &list.name {
            sql += " AND name = ?";
            values.push(name.clone());
        }
        if let Some(operation) = &list.operation {
            sql += " AND operation_id = ?";
            values.push(operation.to_string());
        }
        if let Some(before) = &list.before {
            sql += " AND id < ?";
            values.push(before.to_string());
        }
        if let Some(phase) = list.phase {
            // Where somebody holds it, its state is not its phase.
            sql += if phase.is_settled() {
                " AND state = ?"
            } else {
                " AND state IN ('leased', ?) AND phase = ?"
            };
            let times = if phase.is_settled() { 1 } else { 2 };
            values.extend(std::iter::repeat_n(phase.as_str().to_owned(), times));
        }
        sql += &format!(" ORDER BY id DESC LIMIT {}", at_most(list.limit));
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        let mut heads = Vec::new();
        while let Some(row) = rows.next()? {
            match self.head_of(row, None)? {
                Ok(head) => heads.push(head),
                Err(error) => return Ok(Err(error.into())),
            }
        }
        Ok(Ok(heads))
    }

    /// Until when somebody holds it.
    pub(crate) fn held_until(&self, record: RecordId) -> Sql<Option<Timestamp>> {
        let sql = "SELECT lease_until FROM operation WHERE id = ?";
        let until = self
            .connection
            .prepare_cached(sql)?
            .query_row([record.to_string()], |row| row.get::<_, Option<i64>>(0))
            .optional()?;
        Ok(until.flatten().map(Timestamp::from_nanos).filter(|until| *until > self.now))
    }

    pub(crate) fn retain(&mut self, limit: usize) -> Kept<usize> {
        let mut removed = 0;
        self.each_earliest(Earliest::Expired, limit, |book, record| {
            let Some(head) = book.expired(record)? else { return Ok(Visited::Damaged) };
            let record = record.to_string();
            // Its events may go once it is gone.
            book.execute("DELETE FROM operation WHERE id = ?", [&record])?;
            book.execute("DELETE FROM event WHERE operation = ?", [&record])?;
            book.execute("DELETE FROM review WHERE operation = ?", [&record])?;
            book.free_key(&head)?;
            book.freed.push(head.record);
            removed += 1;
            Ok(Visited::Whole)
        })?;
        self.each_earliest(Earliest::ExpiredKeys, limit - removed, |book, record| {
            let Some(head) = book.expired(record)? else { return Ok(Visited::Damaged) };
            book.free_key(&head)?;
            removed += 1;
            Ok(Visited::Whole)
        })?;
        Ok(Ok(removed))
    }
}

/// The earliest of what.
#[derive(Clone, Copy)]
enum Earliest<'a> {
    /// Due, in this queue.
    Due(&'a str),
    /// Under a lease that is over.
    Lost,
    /// Done, and expired.
    Expired,
    /// With a key that has expired, and not done.
    ExpiredKeys,
}

enum Visited {
    Whole,
    /// Left alone: reading it tells why.
    Damaged,
}

impl Book<'_> {
    /// Visits the earliest ones, as many as the limit says. One that is damaged
    /// stands in the way of no other, so it does not count.
    fn each_earliest(
        &mut self,
        which: Earliest<'_>,
        limit: usize,
        mut visit: impl FnMut(&mut Self, RecordId) -> Sql<Visited>,
    ) -> Sql<()> {
        let (mut left, mut after) = (limit, (-1, String::new()));
        while left > 0 {
            let page = self.earliest(which, &after, left)?;
            let Some(last) = page.last() else { break };
            after.clone_from(last);
            for (_, record) in page {
                let visited = match record.parse() {
                    Ok(record) => visit(self, record)?,
                    Err(_) => Visited::Damaged,
                };
                left -= usize::from(matches!(visited, Visited::Whole));
            }
        }
        Ok(())
    }

    fn earliest(
        &self,
        which: Earliest<'_>,
        (at, record): &(i64, String),
        limit: usize,
    ) -> Sql<Vec<(i64, String)>> {
        let now = self.now.as_nanos();
        let limit = at_most(limit);
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let sql = match which {
            Earliest::Due(queue) => {
                let mut statement = self.connection.prepare_cached(DUE)?;
                let values = params![queue, now, at, record, limit];
                return statement.query_map(values, read)?.collect();
            }
            Earliest::Lost => LOST,
            Earliest::Expired => EXPIRED,
            Earliest::ExpiredKeys => EXPIRED_KEYS,
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_map(params![now, at, record, limit], read)?.collect()
    }

    fn apply(&mut self, Write { record, change }: &Write) -> Sql<Result<Head, Refused>> {
        // The holder has read what it holds; whoever picks a record up has not.
        let picks_up = matches!(
            change,
            Change::TakeOver { .. } | Change::Claim { .. } | Change::Reclaim { .. }
        );
        let head = if picks_up {
            self.read_whole(*record)?.map(|read| read.head().clone())
        } else {
            self.head(*record)?
        };
        match head {
            Ok(head) => self.change(head, change.clone()),
            Err(refused) => Ok(Err(refused)),
        }
    }

    /// Applies the change, and keeps what comes out.
    fn change(&mut self, before: Head, change: Change) -> Sql<Result<Head, Refused>> {
        let mut head = before.clone();
        let applied = match change.apply(&mut head, self.now) {
            Ok(applied) => applied,
            Err(refused) => return Ok(Err(refused)),
        };
        let Applied { entries, result } = applied;
        if entries.is_empty() && result.is_none() {
            self.update_lease(&head)?;
        } else {
            self.insert_entries(head.record, &entries)?;
            self.update_operation(&head, result.as_deref())?;
        }
        if before.phase != head.phase {
            self.enter(&head)?;
        }
        if head.lease.held.is_none() {
            self.freed.push(head.record);
        }
        Ok(Ok(head))
    }

    /// What a phase means for the tables beside the record.
    fn enter(&self, head: &Head) -> Sql<()> {
        let state = match head.phase {
            Phase::Done => "done",
            Phase::Dead | Phase::Cancelled => "failed",
            Phase::Review => {
                let reason = head.stop.as_ref().map_or("", |stop| stop.reason.code());
                let at = head.updated_at.as_nanos();
                let values =
                    params![RecordId::new().to_string(), head.record.to_string(), at, reason];
                self.execute(
                    "INSERT INTO review (id, operation, opened_at, reason, status) \
                     VALUES (?, ?, ?, ?, 'open')",
                    values,
                )?;
                return Ok(());
            }
            Phase::Ready | Phase::Running | Phase::Parked => return Ok(()),
        };
        if let Some(key) = head.operation.key() {
            let expires_at = head.expires_at().map(Timestamp::as_nanos);
            let record = head.record.to_string();
            self.execute(
                "UPDATE idempotency SET state = ?, expires_at = ? \
                 WHERE scope = ? AND key = ? AND operation = ?",
                params![state, expires_at, head.operation.name(), key.to_string(), record],
            )?;
        }
        Ok(())
    }

    fn current(&self, operation: &OperationId) -> Sql<Result<Option<RecordId>, RecordError>> {
        let Some(key) = operation.key() else { return Ok(Ok(None)) };
        let sql = "SELECT operation, expires_at FROM idempotency WHERE scope = ? AND key = ?";
        let found: Option<(String, Option<i64>)> = self
            .connection
            .prepare_cached(sql)?
            .query_row(params![operation.name(), key.to_string()], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        match found {
            Some((record, expires_at)) => match record.parse() {
                Ok(record) if expires_at.is_some_and(|at| at <= self.now.as_nanos()) => {
                    // A new operation begins: the record itself must say so too.
                    Ok(match self.head(record)? {
                        Ok(head) if head.has_expired(self.now) => Ok(None),
                        Ok(_) => {
                            Err(damaged(record, "its key has expired, and the record has not"))
                        }
                        Err(Refused::Illegal(error)) => Err(error),
                        Err(_) => Err(damaged(record, "its key is there, and the record is not")),
                    })
                }
                record => Ok(record.map(Some)),
            },
            None => self.without_key(operation),
        }
    }

    /// The head of a record that has expired by its own row too. Nothing is removed
    /// on the word of an index alone.
    fn expired(&self, record: RecordId) -> Sql<Option<Head>> {
        Ok(self.head(record)?.ok().filter(|head| head.has_expired(self.now)))
    }

    fn free_key(&self, head: &Head) -> Sql<()> {
        let Some(key) = head.operation.key() else { return Ok(()) };
        self.execute(
            "DELETE FROM idempotency WHERE scope = ? AND key = ? AND operation = ?",
            params![head.operation.name(), key.to_string(), head.record.to_string()],
        )
        .map(drop)
    }

    /// No key was found. An operation that needs one tells that it was damaged:
    /// without this look, the operation would begin a second time.
    fn without_key(&self, operation: &OperationId) -> Sql<Result<Option<RecordId>, RecordError>> {
        let sql = "SELECT id FROM operation \
             WHERE operation_id = ? AND (expires_at IS NULL OR expires_at > ?) LIMIT 1";
        let found: Option<String> = self
            .connection
            .prepare_cached(sql)?
            .query_row(params![operation.to_string(), self.now.as_nanos()], |row| row.get(0))
            .optional()?;
        let Some(record) = found else { return Ok(Ok(None)) };
        Ok(record.parse().and_then(|record| {
            Err(damaged(record, "its key is missing in the table `idempotency`"))
        }))
    }

    fn head(&self, record: RecordId) -> Sql<Result<Head, Refused>> {
        let sql = format!("SELECT {HEAD} FROM operation WHERE id = ?");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([record.to_string()])?;
        match rows.next()? {
            Some(row) => Ok(self.head_of(row, Some(record))?.map_err(Refused::Illegal)),
            None => Ok(Err(self.lost(record)?.map_or(Refused::Missing, Refused::Illegal))),
        }
    }

    /// Whether a record that is not found has left entries, and so was damaged.
    fn lost(&self, record: RecordId) -> Sql<Option<RecordError>> {
        let sql = "SELECT EXISTS (SELECT 1 FROM event WHERE operation = ?)";
        let mut statement = self.connection.prepare_cached(sql)?;
        let is_lost: bool = statement.query_row([record.to_string()], |row| row.get(0))?;
        Ok(is_lost.then(|| damaged(record, "it has entries, and its row is not found")))
    }

    /// The head in the row. Where it cannot be, the entries may tell why.
    fn head_of(&self, row: &Row<'_>, record: Option<RecordId>) -> Sql<Result<Head, RecordError>> {
        let error = match row::head(row, self.policies) {
            Ok(head) if record.is_some_and(|record| record != head.record) => {
                return Ok(Err(damaged(head.record, "it is found under another id")));
            }
            Ok(head) if head.rules > RULES => {
                return Ok(Err(RecordError::NewerRules { record: head.record, rules: head.rules }));
            }
            Ok(head) => return Ok(Ok(head)),
            Err(error) => error,
        };
        let Some(what) = row::fault(&error, HEAD) else { return Err(error) };
        let record = match record {
            Some(record) => record,
            None => match row.get::<_, String>(0)?.parse() {
                Ok(record) => record,
                Err(error) => return Ok(Err(error)),
            },
        };
        let entries = self.entries(record)?;
        Ok(Err(entries.and_then(verify(record)).err().unwrap_or_else(|| damaged(record, &what))))
    }

    /// Everything of one record, verified.
    fn record(&self, record: RecordId) -> Sql<Option<Result<Record, RecordError>>> {
        let sql = format!("SELECT {HEAD}, args, result FROM operation WHERE id = ?");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([record.to_string()])?;
        let read = match rows.next() {
            Ok(None) => return Ok(self.lost(record)?.map(Err)),
            Ok(Some(row)) => self.record_of(row, record),
            Err(error) => Err(error),
        };
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) => match row::fault(&error, HEAD) {
                Some(what) => Ok(Some(Err(damaged(record, &what)))),
                None => Err(error),
            },
        }
    }

    fn record_of(&self, row: &Row<'_>, record: RecordId) -> Sql<Result<Record, RecordError>> {
        let head = match self.head_of(row, Some(record))? {
            Ok(head) => head,
            Err(error) => return Ok(Err(error)),
        };
        let texts = row.get(HEAD_LEN).and_then(|args| Ok((args, row.get(HEAD_LEN + 1)?)));
        let (arguments, result): (String, Option<String>) = match texts {
            Ok(texts) => texts,
            Err(error) => {
                let Some(_) = row::fault(&error, HEAD) else { return Err(error) };
                return Ok(Err(damaged(record, "its arguments or its result are not text")));
            }
        };
        Ok(self.entries(record)?.and_then(|entries| {
            Record::read(head, entries, Arguments::from_json(arguments), result)
        }))
    }

    fn read_whole(&self, record: RecordId) -> Sql<Result<Record, Refused>> {
        Ok(match self.record(record)? {
            Some(read) => read.map_err(Refused::Illegal),
            None => Err(Refused::Missing),
        })
    }

    fn entries(&self, record: RecordId) -> Sql<Result<Vec<EntryColumns>, RecordError>> {
        let sql = format!("SELECT {ENTRY} FROM event WHERE operation = ? ORDER BY seq");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([record.to_string()])?;
        let mut entries: Vec<EntryColumns> = Vec::new();
        loop {
            let read = match rows.next() {
                Ok(Some(row)) => row::entry(row),
                Ok(None) => return Ok(Ok(entries)),
                Err(error) => Err(error),
            };
            match read {
                Ok(entry) => entries.push(entry),
                Err(error) => {
                    let Some(what) = row::fault(&error, ENTRY) else { return Err(error) };
                    let entry = entries.last().map_or(1, |last| last.seq.saturating_add(1));
                    return Ok(Err(RecordError::Damaged { record, entry, what }));
                }
            }
        }
    }

    fn insert_operation(&self, head: &Head, policy: &str, arguments: &Arguments) -> Sql<()> {
        let sql = "INSERT INTO operation (id, operation_id, name, queue, code_version, safety, policy, \
             rules, args_fp, keep_ns, deadline_ns, state, phase, attempt, released, crashes, deferrals, \
             hints, logical_elapsed_ns, planned_ns, due_at, due_reason, lease_epoch, lease_owner, \
             lease_until, stop_reason, stop_text, last_error, seq, sum, row_sum, created_at, \
             updated_at, expires_at, args) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0, 0, 0, 0, 0, NULL, \
             ?15, NULL, ?16, ?17, ?18, NULL, NULL, NULL, ?19, ?20, ?21, ?22, ?22, NULL, ?23)";
        let held = head.lease.held;
        self.execute(
            sql,
            params![
                head.record.to_string(),
                head.operation.to_string(),
                head.operation.name(),
                head.queue,
                head.code_version,
                head.safety.as_str(),
                policy,
                head.rules,
                head.fingerprint.to_string(),
                nanos(head.keep),
                nanos(head.policy.get_deadline()),
                head.state(),
                head.phase.as_str(),
                head.started,
                head.due_at.as_nanos(),
                count(head.lease.epoch),
                held.map(|(holder, _)| holder.to_string()),
                held.map(|(_, until)| until.as_nanos()),
                head.seq,
                head.sum.as_bytes(),
                row::sum_of(head),
                head.created_at.as_nanos(),
                arguments.json(),
            ],
        )
        .map(drop)
    }

    fn update_operation(&self, head: &Head, result: Option<&str>) -> Sql<()> {
        let sql = "UPDATE operation SET state = ?2, phase = ?3, attempt = ?4, released = ?5, \
             crashes = ?6, deferrals = ?7, hints = ?8, logical_elapsed_ns = ?9, planned_ns = ?10, \
             due_at = ?11, due_reason = ?12, lease_epoch = ?13, lease_owner = ?14, lease_until = ?15, \
             stop_reason = ?16, stop_text = ?17, last_error = ?18, seq = ?19, sum = ?20, \
             row_sum = ?21, updated_at = ?22, expires_at = ?23, result = coalesce(?24, result) WHERE id = ?1";
        let held = head.lease.held;
        self.execute(
            sql,
            params![
                head.record.to_string(),
                head.state(),
                head.phase.as_str(),
                head.started,
                head.released,
                head.crashes,
                head.deferrals,
                head.hints,
                nanos(head.elapsed),
                head.planned.map(nanos),
                head.due_at.as_nanos(),
                head.due_reason.map(|reason| reason.code()),
                count(head.lease.epoch),
                held.map(|(holder, _)| holder.to_string()),
                held.map(|(_, until)| until.as_nanos()),
                head.stop.as_ref().map(|stop| stop.reason.code()),
                head.stop.as_ref().map(|stop| stop.text.as_str()),
                head.last_error,
                head.seq,
                head.sum.as_bytes(),
                row::sum_of(head),
                head.updated_at.as_nanos(),
                head.expires_at().map(Timestamp::as_nanos),
                result,
            ],
        )
        .map(drop)
    }

    fn update_lease(&self, head: &Head) -> Sql<()> {
        let sql = "UPDATE operation SET state = ?2, lease_epoch = ?3, lease_owner = ?4, \
             lease_until = ?5, row_sum = ?6 WHERE id = ?1";
        let held = head.lease.held;
        self.execute(
            sql,
            params![
                head.record.to_string(),
                head.state(),
                count(head.lease.epoch),
                held.map(|(holder, _)| holder.to_string()),
                held.map(|(_, until)| until.as_nanos()),
                row::sum_of(head),
            ],
        )
        .map(drop)
    }

    fn insert_entries(&self, record: RecordId, entries: &[Entry]) -> Sql<()> {
        let record = record.to_string();
        for entry in entries {
            self.execute(
                "INSERT INTO event (operation, seq, at, epoch, attempt, kind, body, sum) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    record,
                    entry.seq(),
                    entry.at().as_nanos(),
                    count(entry.epoch()),
                    entry.attempt(),
                    entry.event().kind(),
                    entry.body(),
                    entry.sum().as_bytes(),
                ],
            )?;
        }
        Ok(())
    }

    /// In the place of one that has expired.
    fn insert_key(&self, head: &Head, key: IdempotencyKey) -> Sql<()> {
        self.execute(
            "INSERT INTO idempotency (scope, key, fp, operation, state, created_at, expires_at) \
             VALUES (?, ?, ?, ?, 'open', ?, NULL) \
             ON CONFLICT (scope, key) DO UPDATE SET fp = excluded.fp, \
             operation = excluded.operation, state = 'open', created_at = excluded.created_at, \
             expires_at = NULL",
            params![
                head.operation.name(),
                key.to_string(),
                head.fingerprint.to_string(),
                head.record.to_string(),
                head.created_at.as_nanos(),
            ],
        )
        .map(drop)
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Sql<usize> {
        self.connection.prepare_cached(sql)?.execute(values)
    }
}

/// Whether each entry is as it was written.
fn verify(record: RecordId) -> impl FnOnce(Vec<EntryColumns>) -> Result<(), RecordError> {
    move |entries| {
        entries
            .into_iter()
            .try_fold(Checksum::START, |before, columns| {
                Entry::read(record, before, columns).map(|entry| entry.sum())
            })
            .map(drop)
    }
}

fn damaged(record: RecordId, what: &str) -> RecordError {
    RecordError::Damaged { record, entry: 0, what: what.to_owned() }
}

fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrations;

    #[test]
    fn what_is_asked_for_often_is_found_by_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        migrations::migrate(&connection).unwrap();
        for (sql, index) in [
            (DUE, "USING INDEX operation_due (queue=? AND (due_at,id)>(?,?) AND due_at<?)"),
            (
                LOST,
                "USING COVERING INDEX operation_leased ((lease_until,id)>(?,?) AND lease_until<?)",
            ),
            (
                EXPIRED,
                "USING COVERING INDEX operation_expired ((expires_at,id)>(?,?) AND expires_at<?)",
            ),
            (
                EXPIRED_KEYS,
                "USING COVERING INDEX idempotency_expired ((expires_at,operation)>(?,?) AND expires_at<?)",
            ),
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            for number in 1..=statement.parameter_count() {
                statement.raw_bind_parameter(number, 1).unwrap();
            }
            let mut rows = statement.raw_query();
            let mut plan = String::new();
            while let Some(row) = rows.next().unwrap() {
                plan += &format!("{}\n", row.get::<_, String>(3).unwrap());
            }
            assert!(plan.contains(index), "{sql}\n{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
        }
    }
}
