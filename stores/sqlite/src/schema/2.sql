-- Which operations are due, and whose lease is over, without a look at the rest.
CREATE INDEX operation_due ON operation (queue, due_at, id) WHERE state IN ('ready', 'parked');
CREATE INDEX operation_leased ON operation (lease_until, id) WHERE state = 'leased';

CREATE TABLE worker (
  id           TEXT    NOT NULL PRIMARY KEY,
  host         TEXT    NOT NULL,
  pid          INTEGER NOT NULL,
  started_at   INTEGER NOT NULL,
  heartbeat_at INTEGER NOT NULL
) STRICT;
