CREATE TABLE meta (
  key   TEXT NOT NULL PRIMARY KEY,
  value ANY  NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE operation (
  id                 TEXT    NOT NULL PRIMARY KEY,
  operation_id       TEXT    NOT NULL,
  name               TEXT    NOT NULL,
  queue              TEXT    NOT NULL,
  code_version       TEXT,
  safety             TEXT    NOT NULL,
  policy             TEXT    NOT NULL,
  rules              INTEGER NOT NULL,
  args_fp            TEXT    NOT NULL,
  keep_ns            INTEGER NOT NULL,
  deadline_ns        INTEGER NOT NULL,
  state              TEXT    NOT NULL CHECK (state IN
    ('ready', 'leased', 'parked', 'review', 'done', 'dead', 'cancelled')),
  phase              TEXT    NOT NULL CHECK (phase IN
    ('ready', 'running', 'parked', 'review', 'done', 'dead', 'cancelled')),
  attempt            INTEGER NOT NULL,
  released           INTEGER NOT NULL,
  crashes            INTEGER NOT NULL,
  deferrals          INTEGER NOT NULL,
  hints              INTEGER NOT NULL,
  granted            INTEGER NOT NULL DEFAULT 0,
  granted_ns         INTEGER NOT NULL DEFAULT 0,
  logical_elapsed_ns INTEGER NOT NULL,
  planned_ns         INTEGER,
  due_at             INTEGER NOT NULL,
  due_reason         TEXT,
  lease_epoch        INTEGER NOT NULL,
  lease_owner        TEXT,
  lease_until        INTEGER,
  stop_reason        TEXT,
  stop_text          TEXT,
  last_error         TEXT,
  seq                INTEGER NOT NULL,
  sum                BLOB    NOT NULL,
  row_sum            BLOB    NOT NULL,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  expires_at         INTEGER,
  args               TEXT    NOT NULL,
  result             TEXT,
  CHECK ((state = 'leased') = (lease_owner IS NOT NULL)),
  CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
  CHECK ((stop_reason IS NULL) = (stop_text IS NULL))
) STRICT;

CREATE INDEX operation_by_state ON operation (state, id);
CREATE INDEX operation_by_operation_id ON operation (operation_id);
CREATE INDEX operation_expired ON operation (expires_at, id) WHERE state = 'done';

CREATE TRIGGER operation_is_removed_when_done BEFORE DELETE ON operation
WHEN OLD.state <> 'done' BEGIN
  SELECT RAISE(ABORT, 'only operations that are done are removed');
END;

CREATE TABLE event (
  operation TEXT    NOT NULL,
  seq       INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  epoch     INTEGER NOT NULL,
  attempt   INTEGER NOT NULL,
  kind      TEXT    NOT NULL,
  body      TEXT    NOT NULL,
  sum       BLOB    NOT NULL,
  PRIMARY KEY (operation, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event BEGIN
  SELECT RAISE(ABORT, 'events are never changed');
END;

-- Retention removes the operation first.
CREATE TRIGGER event_is_removed_with_its_operation BEFORE DELETE ON event
WHEN EXISTS (SELECT 1 FROM operation WHERE id = OLD.operation) BEGIN
  SELECT RAISE(ABORT, 'events are only removed with their operation');
END;

CREATE TABLE idempotency (
  scope      TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  fp         TEXT    NOT NULL,
  operation  TEXT    NOT NULL,
  state      TEXT    NOT NULL CHECK (state IN ('open', 'done', 'failed')),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (scope, key),
  CHECK ((state = 'open') = (expires_at IS NULL))
) STRICT;

CREATE INDEX idempotency_expired ON idempotency (expires_at, operation) WHERE state = 'failed';

CREATE TABLE review (
  id          TEXT    NOT NULL PRIMARY KEY,
  operation   TEXT    NOT NULL,
  opened_at   INTEGER NOT NULL,
  reason      TEXT    NOT NULL,
  status      TEXT    NOT NULL CHECK (status IN ('open', 'resolved')),
  assignee    TEXT,
  resolution  TEXT,
  note        TEXT,
  resolved_by TEXT,
  resolved_at INTEGER
) STRICT;

CREATE UNIQUE INDEX review_open ON review (operation) WHERE status = 'open';

CREATE VIEW dead_letter AS
SELECT id, operation_id, name, queue, attempt, released, crashes,
       stop_reason AS reason, stop_text AS why, last_error, args,
       created_at, updated_at AS died_at,
       (SELECT json_group_array(json(body)) FROM
         (SELECT body FROM event WHERE event.operation = operation.id ORDER BY seq DESC LIMIT 5)
       ) AS last_events
FROM operation WHERE state = 'dead';
