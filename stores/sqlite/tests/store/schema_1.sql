-- A store of schema 1, as version 0.1.0 began with it: three operations that wait
-- for their second attempt, one whose lease is over, one that is done.
PRAGMA application_id = 1920234105;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE meta (
  key   TEXT NOT NULL PRIMARY KEY,
  value ANY  NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('clock_floor_check',-1790000000005000001);
INSERT INTO meta VALUES('clock_floor_ns',1790000000005000000);
INSERT INTO meta VALUES('schema_version',1);
INSERT INTO meta VALUES('store_id','01M8PSNH9J000B7NK5W0JJA9RS');
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
INSERT INTO operation VALUES('01M8PSNHC0001B7NK5W0JJA9RS','payments.charge/ec99e94b-b0e8-8275-96d2-1b65f8b6619a','payments.charge','mail','7','keyed','{"max_attempts":5,"deadline":"86400s","hint_limit":"60s","backoff":{"exponential":"600s","jitter":"equal"}}',1,'7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd',86400000000000,86400000000000,'parked','parked',1,0,0,0,0,0,0,40000000,359140843700,1790000359105843700,NULL,1,NULL,NULL,NULL,NULL,NULL,4,X'6b841231f4e241224f7e3f8d61dd1fec',X'f1c716bfce344fb08e7c49f817bb9e81',1790000000000000000,1790000000005000000,NULL,'["order",5]',NULL);
INSERT INTO operation VALUES('01M8PSNHCD001V7NK5W0JJA9RS','payments.charge/377b460e-3058-871f-ab33-5460897159ac','payments.charge','mail','7','keyed','{"max_attempts":5,"deadline":"86400s","hint_limit":"60s","backoff":{"exponential":"600s","jitter":"equal"}}',1,'7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd',86400000000000,86400000000000,'parked','parked',1,0,0,0,0,0,0,40000000,374566565329,1790000374531565329,NULL,1,NULL,NULL,NULL,NULL,NULL,4,X'50431cea6a474519c81461f9dfa8c5c4',X'f1c716bfce344fb08e7c49f817bb9e81',1790000000000000000,1790000000005000000,NULL,'["order",5]',NULL);
INSERT INTO operation VALUES('01M8PSNHCT002B7NK5W0JJA9RS','payments.charge/0e6ff368-682a-8a7e-9076-96f35650f962','payments.charge','mail','7','keyed','{"max_attempts":5,"deadline":"86400s","hint_limit":"60s","backoff":{"exponential":"600s","jitter":"equal"}}',1,'7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd',86400000000000,86400000000000,'parked','parked',1,0,0,0,0,0,0,40000000,548072083187,1790000548037083187,NULL,1,NULL,NULL,NULL,NULL,NULL,4,X'895beb03e71b462f1b0724c35aec2709',X'f1c716bfce344fb08e7c49f817bb9e81',1790000000000000000,1790000000005000000,NULL,'["order",5]',NULL);
INSERT INTO operation VALUES('01M8PSNHEN002V7NK5W0JJA9RS','payments.charge/81ef3699-56f8-8f77-ab8a-77a310a195a8','payments.charge','mail','7','keyed','{"max_attempts":5,"deadline":"3600s","hint_limit":"60s","backoff":{"exponential":"100ms","jitter":"equal"}}',1,'7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd',86400000000000,3600000000000,'leased','running',1,0,0,0,0,0,0,0,NULL,1790000000005000000,NULL,1,'01M8PSNHAT000V7NK5W0JJA9RS-2',1790000030005000000,NULL,NULL,NULL,2,X'5804b3b7270f28d238aed4588d0d1917',X'fa1a3fddb81cea89e3895ebc31ddd748',1790000000005000000,1790000000005000000,NULL,'["order",5]',NULL);
INSERT INTO operation VALUES('01M8PSNHES003B7NK5W0JJA9RS','payments.charge/23c0cb1f-fd49-8c0c-9977-c05eaccfe13a','payments.charge','mail','7','keyed','{"max_attempts":5,"deadline":"3600s","hint_limit":"60s","backoff":{"exponential":"100ms","jitter":"equal"}}',1,'7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd',86400000000000,3600000000000,'done','done',1,0,0,0,0,0,0,7000000,NULL,1790000000005000000,NULL,1,NULL,NULL,NULL,NULL,NULL,4,X'0ddc86891ca27a8bf72602964cee619b',X'f1c716bfce344fb08e7c49f817bb9e81',1790000000005000000,1790000000005000000,1790086400005000000,'["order",5]','"receipt"');
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
INSERT INTO event VALUES('01M8PSNHC0001B7NK5W0JJA9RS',1,1790000000000000000,0,0,'enqueued','{"kind":"enqueued","operation":"payments.charge/ec99e94b-b0e8-8275-96d2-1b65f8b6619a","safety":"keyed","policy":{"max_attempts":5,"deadline":"86400s","hint_limit":"60s","backoff":{"exponential":"600s","jitter":"equal"}},"rules":1,"fingerprint":"7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd"}',X'd69b9bd9ef6b65419d42672b6115d855');
INSERT INTO event VALUES('01M8PSNHC0001B7NK5W0JJA9RS',2,1790000000005000000,1,1,'attempt_started','{"kind":"attempt_started","attempt":1,"elapsed_ns":0}',X'8eee3d6d2815277239ceb6e59e61b0eb');
INSERT INTO event VALUES('01M8PSNHC0001B7NK5W0JJA9RS',3,1790000000005000000,1,1,'attempt_finished','{"kind":"attempt_finished","attempt":1,"elapsed_ns":40000000,"ended":"dropped","failure":{"class":"transient","effect":"possible","kind":"other"}}',X'257d93ec1a608db3247e5dbdef1c3805');
INSERT INTO event VALUES('01M8PSNHC0001B7NK5W0JJA9RS',4,1790000000005000000,1,1,'delay_chosen','{"kind":"delay_chosen","attempt":1,"ceiling_ns":600000000000,"unit":846120636,"computed_ns":359100843700,"delay_ns":359100843700,"start_ns":359140843700}',X'6b841231f4e241224f7e3f8d61dd1fec');
INSERT INTO event VALUES('01M8PSNHCD001V7NK5W0JJA9RS',1,1790000000000000000,0,0,'enqueued','{"kind":"enqueued","operation":"payments.charge/377b460e-3058-871f-ab33-5460897159ac","safety":"keyed","policy":{"max_attempts":5,"deadline":"86400s","hint_limit":"60s","backoff":{"exponential":"600s","jitter":"equal"}},"rules":1,"fingerprint":"7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd"}',X'ff4f329def25e3399db9dc6ac7068019');
INSERT INTO event VALUES('01M8PSNHCD001V7NK5W0JJA9RS',2,1790000000005000000,1,1,'attempt_started','{"kind":"attempt_started","attempt":1,"elapsed_ns":0}',X'2e8077f77c6ccae4d2da35883cf43caf');
INSERT INTO event VALUES('01M8PSNHCD001V7NK5W0JJA9RS',3,1790000000005000000,1,1,'attempt_finished','{"kind":"attempt_finished","attempt":1,"elapsed_ns":40000000,"ended":"dropped","failure":{"class":"transient","effect":"possible","kind":"other"}}',X'e435970998c46799ccbbc6cdde275564');
INSERT INTO event VALUES('01M8PSNHCD001V7NK5W0JJA9RS',4,1790000000005000000,1,1,'delay_chosen','{"kind":"delay_chosen","attempt":1,"ceiling_ns":600000000000,"unit":1066963869,"computed_ns":374526565329,"delay_ns":374526565329,"start_ns":374566565329}',X'50431cea6a474519c81461f9dfa8c5c4');
INSERT INTO event VALUES('01M8PSNHCT002B7NK5W0JJA9RS',1,1790000000000000000,0,0,'enqueued','{"kind":"enqueued","operation":"payments.charge/0e6ff368-682a-8a7e-9076-96f35650f962","safety":"keyed","policy":{"max_attempts":5,"deadline":"86400s","hint_limit":"60s","backoff":{"exponential":"600s","jitter":"equal"}},"rules":1,"fingerprint":"7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd"}',X'2a410549cec3acd8cbfd22ab0392dd50');
INSERT INTO event VALUES('01M8PSNHCT002B7NK5W0JJA9RS',2,1790000000005000000,1,1,'attempt_started','{"kind":"attempt_started","attempt":1,"elapsed_ns":0}',X'28efd65629abe425b2a8d093a436ebb6');
INSERT INTO event VALUES('01M8PSNHCT002B7NK5W0JJA9RS',3,1790000000005000000,1,1,'attempt_finished','{"kind":"attempt_finished","attempt":1,"elapsed_ns":40000000,"ended":"dropped","failure":{"class":"transient","effect":"possible","kind":"other"}}',X'ce9d7eb24cee44a56c51de7e063fc761');
INSERT INTO event VALUES('01M8PSNHCT002B7NK5W0JJA9RS',4,1790000000005000000,1,1,'delay_chosen','{"kind":"delay_chosen","attempt":1,"ceiling_ns":600000000000,"unit":3550965618,"computed_ns":548032083187,"delay_ns":548032083187,"start_ns":548072083187}',X'895beb03e71b462f1b0724c35aec2709');
INSERT INTO event VALUES('01M8PSNHEN002V7NK5W0JJA9RS',1,1790000000005000000,0,0,'enqueued','{"kind":"enqueued","operation":"payments.charge/81ef3699-56f8-8f77-ab8a-77a310a195a8","safety":"keyed","policy":{"max_attempts":5,"deadline":"3600s","hint_limit":"60s","backoff":{"exponential":"100ms","jitter":"equal"}},"rules":1,"fingerprint":"7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd"}',X'b06d8ba5b628a63eac6add17670d518f');
INSERT INTO event VALUES('01M8PSNHEN002V7NK5W0JJA9RS',2,1790000000005000000,1,1,'attempt_started','{"kind":"attempt_started","attempt":1,"elapsed_ns":0}',X'5804b3b7270f28d238aed4588d0d1917');
INSERT INTO event VALUES('01M8PSNHES003B7NK5W0JJA9RS',1,1790000000005000000,0,0,'enqueued','{"kind":"enqueued","operation":"payments.charge/23c0cb1f-fd49-8c0c-9977-c05eaccfe13a","safety":"keyed","policy":{"max_attempts":5,"deadline":"3600s","hint_limit":"60s","backoff":{"exponential":"100ms","jitter":"equal"}},"rules":1,"fingerprint":"7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd"}',X'5438d437cbc75f632d387629d53b6200');
INSERT INTO event VALUES('01M8PSNHES003B7NK5W0JJA9RS',2,1790000000005000000,1,1,'attempt_started','{"kind":"attempt_started","attempt":1,"elapsed_ns":0}',X'da97c9ab66817d0074c0d1184903b5b2');
INSERT INTO event VALUES('01M8PSNHES003B7NK5W0JJA9RS',3,1790000000005000000,1,1,'attempt_finished','{"kind":"attempt_finished","attempt":1,"elapsed_ns":7000000,"ended":"succeeded"}',X'56f567534a1506888efc0c608ac6a3a8');
INSERT INTO event VALUES('01M8PSNHES003B7NK5W0JJA9RS',4,1790000000005000000,1,1,'result_recorded','{"kind":"result_recorded","sum":"e08ea766d3f98deebe47d0faef1d2a61"}',X'0ddc86891ca27a8bf72602964cee619b');
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
INSERT INTO idempotency VALUES('payments.charge','0e6ff368-682a-8a7e-9076-96f35650f962','7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd','01M8PSNHCT002B7NK5W0JJA9RS','open',1790000000000000000,NULL);
INSERT INTO idempotency VALUES('payments.charge','23c0cb1f-fd49-8c0c-9977-c05eaccfe13a','7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd','01M8PSNHES003B7NK5W0JJA9RS','done',1790000000005000000,1790086400005000000);
INSERT INTO idempotency VALUES('payments.charge','377b460e-3058-871f-ab33-5460897159ac','7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd','01M8PSNHCD001V7NK5W0JJA9RS','open',1790000000000000000,NULL);
INSERT INTO idempotency VALUES('payments.charge','81ef3699-56f8-8f77-ab8a-77a310a195a8','7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd','01M8PSNHEN002V7NK5W0JJA9RS','open',1790000000005000000,NULL);
INSERT INTO idempotency VALUES('payments.charge','ec99e94b-b0e8-8275-96d2-1b65f8b6619a','7712a3333b2b7530c52fee1138532b4c2abd5072f9e9f92331fdf2bcd9f099cd','01M8PSNHC0001B7NK5W0JJA9RS','open',1790000000000000000,NULL);
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
CREATE INDEX operation_by_state ON operation (state, id);
CREATE INDEX operation_by_operation_id ON operation (operation_id);
CREATE INDEX operation_expired ON operation (expires_at, id) WHERE state = 'done';
CREATE TRIGGER operation_is_removed_when_done BEFORE DELETE ON operation
WHEN OLD.state <> 'done' BEGIN
  SELECT RAISE(ABORT, 'only operations that are done are removed');
END;
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event BEGIN
  SELECT RAISE(ABORT, 'events are never changed');
END;
CREATE TRIGGER event_is_removed_with_its_operation BEFORE DELETE ON event
WHEN EXISTS (SELECT 1 FROM operation WHERE id = OLD.operation) BEGIN
  SELECT RAISE(ABORT, 'events are only removed with their operation');
END;
CREATE INDEX idempotency_expired ON idempotency (expires_at, operation) WHERE state = 'failed';
CREATE UNIQUE INDEX review_open ON review (operation) WHERE status = 'open';
CREATE VIEW dead_letter AS
SELECT id, operation_id, name, queue, attempt, released, crashes,
       stop_reason AS reason, stop_text AS why, last_error, args,
       created_at, updated_at AS died_at,
       (SELECT json_group_array(json(body)) FROM
         (SELECT body FROM event WHERE event.operation = operation.id ORDER BY seq DESC LIMIT 5)
       ) AS last_events
FROM operation WHERE state = 'dead';
COMMIT;
