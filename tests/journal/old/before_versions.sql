BEGIN TRANSACTION;
CREATE TABLE planexec_arrivals (
	task VARCHAR(200) NOT NULL, 
	bucket VARCHAR(200) NOT NULL, 
	object_key VARCHAR(1024) NOT NULL, 
	version VARCHAR(300) NOT NULL, 
	period VARCHAR(20) NOT NULL, 
	size BIGINT NOT NULL, 
	first_seen VARCHAR(40) NOT NULL, 
	requested VARCHAR(200), 
	PRIMARY KEY (task, bucket, object_key, version)
);
INSERT INTO "planexec_arrivals" VALUES('t','vendor-drops','vendor/exports/2026-03-invoice.csv','e1 2026-04-01T09:02:00+00:00 12','2026-03',12,'2026-11-30T15:44:12.476248+00:00','2026-03-01:9761e46f335c89a1');
CREATE TABLE planexec_attempts (
	id VARCHAR(40) NOT NULL, 
	task VARCHAR(200) NOT NULL, 
	task_version VARCHAR(60) NOT NULL, 
	period VARCHAR(20) NOT NULL, 
	inputs_digest VARCHAR(64) NOT NULL, 
	admission TEXT NOT NULL, 
	plan_digest VARCHAR(64), 
	revision INTEGER NOT NULL, 
	provenance TEXT, 
	status VARCHAR(20) NOT NULL, 
	code VARCHAR(40), 
	opened_at VARCHAR(40) NOT NULL, 
	opened_seq INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (task, period, opened_seq)
);
INSERT INTO "planexec_attempts" VALUES('att_f2016a78e6c8','t','1','2026-03','older','{"objects": []}','ea07e8ed920d23e68a3986c27f4376fe6e1ef4ecc8d2e2be0a23bdcbff1d5ec4',1,'{"author": "by hand", "planner": "recorded"}','superseded','OBJECT_GONE','2026-11-30T15:44:12.408981+00:00',1);
INSERT INTO "planexec_attempts" VALUES('att_6253da0fff24','t','1','2026-03','i','{"objects": []}','ea07e8ed920d23e68a3986c27f4376fe6e1ef4ecc8d2e2be0a23bdcbff1d5ec4',1,'{"author": "by hand", "planner": "recorded"}','held','CAP_EXCEEDED','2026-11-30T15:44:12.450314+00:00',2);
CREATE TABLE planexec_drop (
	task VARCHAR(200) NOT NULL, 
	bucket VARCHAR(200) NOT NULL, 
	object_key VARCHAR(1024) NOT NULL, 
	period VARCHAR(20) NOT NULL, 
	version VARCHAR(300) NOT NULL, 
	changed_at VARCHAR(40) NOT NULL, 
	requested VARCHAR(200), 
	PRIMARY KEY (task, bucket, object_key, period)
);
INSERT INTO "planexec_drop" VALUES('t','vendor-drops','vendor/exports/2026-03-invoice.csv','2026-03','e1 2026-04-01T09:02:00+00:00 12','2026-04-01T09:02:00.000000+00:00','2026-03-01:9761e46f335c89a1');
CREATE TABLE planexec_events (
	seq INTEGER NOT NULL, 
	attempt VARCHAR(40) NOT NULL, 
	at VARCHAR(40) NOT NULL, 
	kind VARCHAR(40) NOT NULL, 
	step VARCHAR(200), 
	run_id VARCHAR(60), 
	payload TEXT NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "planexec_events" VALUES(1,'att_f2016a78e6c8','2026-11-30T15:44:12.418130+00:00','attempt-opened',NULL,NULL,'{"supersedes": null}');
INSERT INTO "planexec_events" VALUES(2,'att_f2016a78e6c8','2026-11-30T15:44:12.429193+00:00','plan-adopted',NULL,NULL,'{"author": "by hand", "digest": "ea07e8ed920d23e68a3986c27f4376fe6e1ef4ecc8d2e2be0a23bdcbff1d5ec4", "planner": "recorded"}');
INSERT INTO "planexec_events" VALUES(3,'att_f2016a78e6c8','2026-11-30T15:44:12.433232+00:00','run-begun',NULL,NULL,'{"replan": false, "task_run": "task-run-1"}');
INSERT INTO "planexec_events" VALUES(4,'att_f2016a78e6c8','2026-11-30T15:44:12.435535+00:00','step-started','a','plan-run-1','{"try": 1}');
INSERT INTO "planexec_events" VALUES(5,'att_f2016a78e6c8','2026-11-30T15:44:12.435535+00:00','step-ended','a','plan-run-1','{"code": "OBJECT_GONE", "duration_ms": 3, "facts": {}, "hint": null, "hold_id": null, "reason": "gone", "state": "failed", "tool": "s3.get", "tries": 1, "verdicts": []}');
INSERT INTO "planexec_events" VALUES(6,'att_f2016a78e6c8','2026-11-30T15:44:12.442784+00:00','run-ended',NULL,'plan-run-1','{"code": "OBJECT_GONE", "status": "stopped"}');
INSERT INTO "planexec_events" VALUES(7,'att_6253da0fff24','2026-11-30T15:44:12.457717+00:00','attempt-opened',NULL,NULL,'{"supersedes": "att_f2016a78e6c8"}');
INSERT INTO "planexec_events" VALUES(8,'att_6253da0fff24','2026-11-30T15:44:12.458925+00:00','plan-adopted',NULL,NULL,'{"author": "by hand", "digest": "ea07e8ed920d23e68a3986c27f4376fe6e1ef4ecc8d2e2be0a23bdcbff1d5ec4", "planner": "recorded"}');
INSERT INTO "planexec_events" VALUES(9,'att_6253da0fff24','2026-11-30T15:44:12.489476+00:00','run-ended',NULL,'plan-run-2','{"code": "CAP_EXCEEDED", "status": "held"}');
CREATE TABLE planexec_holds (
	id VARCHAR(40) NOT NULL, 
	attempt VARCHAR(40) NOT NULL, 
	task VARCHAR(200) NOT NULL, 
	period VARCHAR(20) NOT NULL, 
	step VARCHAR(200) NOT NULL, 
	code VARCHAR(40) NOT NULL, 
	plan_digest VARCHAR(64) NOT NULL, 
	body TEXT NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	opened_at VARCHAR(40) NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "planexec_holds" VALUES('hold_52149df92742','att_6253da0fff24','t','2026-03','pay','CAP_EXCEEDED','ea07e8ed920d23e68a3986c27f4376fe6e1ef4ecc8d2e2be0a23bdcbff1d5ec4','{"count": 60}','open','2026-11-30T15:44:12.470352+00:00');
CREATE TABLE planexec_landings (
	seq INTEGER NOT NULL, 
	task VARCHAR(200) NOT NULL, 
	period VARCHAR(20) NOT NULL, 
	bucket VARCHAR(200) NOT NULL, 
	object_key VARCHAR(1024) NOT NULL, 
	sha256 VARCHAR(64) NOT NULL, 
	attempt VARCHAR(40) NOT NULL, 
	object TEXT NOT NULL, 
	landed_at VARCHAR(40) NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "planexec_landings" VALUES(1,'t','2026-03','vendor-drops','vendor/exports/2026-03-invoice.csv','abababababababababababababababababababababababababababababababab','att_6253da0fff24','{"etag": "e1", "last_modified": "2026-04-01T09:02:00+00:00", "size": 12, "version_id": null}','2026-11-30T15:44:12.465511+00:00');
CREATE TABLE planexec_plans (
	digest VARCHAR(64) NOT NULL, 
	semantic_digest VARCHAR(64) NOT NULL, 
	body BLOB NOT NULL, 
	saved_at VARCHAR(40) NOT NULL, 
	PRIMARY KEY (digest)
);
INSERT INTO "planexec_plans" VALUES('ea07e8ed920d23e68a3986c27f4376fe6e1ef4ecc8d2e2be0a23bdcbff1d5ec4','9baa198cb16bcd32d7c94e1aacebab2eca5af682772b6d01701dc40ec3bf6a12',X'7B2265787065637473223A5B5D2C22696E74656E74223A2278222C22706572696F64223A22323032362D3033222C227374657073223A5B7B2261726773223A7B226B6579223A226B227D2C22636C61696D73223A5B5D2C22646570656E64735F6F6E223A5B5D2C226964223A2261222C22726174696F6E616C65223A22222C22746F6F6C223A2273332E676574227D5D2C227461736B223A2274227D','2026-11-30T15:44:12.422447+00:00');
CREATE TABLE planexec_reports (
	seq INTEGER NOT NULL, 
	task_run_id VARCHAR(60) NOT NULL, 
	task VARCHAR(200) NOT NULL, 
	period VARCHAR(20) NOT NULL, 
	attempt VARCHAR(40), 
	body TEXT NOT NULL, 
	PRIMARY KEY (seq), 
	UNIQUE (task_run_id)
);
INSERT INTO "planexec_reports" VALUES(1,'task-run-1','t','2026-03','att_f2016a78e6c8','{"code": "OBJECT_GONE", "credits": {"currency": "USD", "held_amount": "0.00", "held_count": 0, "hold_id": null, "issued_amount": "0.00", "issued_count": 0}, "ended_at": "2026-11-30T15:44:12.445446+00:00", "findings": [], "hint": "ask the vendor to deliver it again, or restore an older version; then run the month again", "partition": "2026-03-01", "plan": {"author": null, "digest": null, "model_called": false, "planner": null, "revision": 0}, "plan_run_id": "plan-run-1", "reconciliation": {"sums": {}}, "report": {"html": null, "json": null, "md": null}, "status": "stopped", "steps": [], "task": "t", "task_run_id": "task-run-1", "text": "gone", "version": 1}');
INSERT INTO "planexec_reports" VALUES(2,'task-run-2','t','2026-03','att_6253da0fff24','{"code": "CAP_EXCEEDED", "credits": {"currency": "USD", "held_amount": "0.00", "held_count": 0, "hold_id": null, "issued_amount": "0.00", "issued_count": 0}, "ended_at": "2026-11-30T15:44:12.490217+00:00", "findings": [], "hint": "look at the held credits: `planexec show HOLD`", "partition": "2026-03-01", "plan": {"author": null, "digest": null, "model_called": false, "planner": null, "revision": 0}, "plan_run_id": "plan-run-2", "reconciliation": {"sums": {}}, "report": {"html": null, "json": null, "md": null}, "status": "held", "steps": [], "task": "t", "task_run_id": "task-run-2", "text": "60 lines", "version": 1}');
CREATE TABLE planexec_results (
	seq INTEGER NOT NULL, 
	attempt VARCHAR(40) NOT NULL, 
	identity VARCHAR(64) NOT NULL, 
	step VARCHAR(200) NOT NULL, 
	tool VARCHAR(200) NOT NULL, 
	run_id VARCHAR(60) NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "planexec_results" VALUES(1,'att_6253da0fff24','6f3225f32eef8d2283d1e6e7072a399174d049f9a8e5756bedddba8894032dfd','a','s3.get','plan-run-2','{"args": {"key": "k"}, "digest": "f20b14806f449557af7f3f429d3d80d80c3d2d95234ddf7b20d76e7657df9927", "duration_ms": 500, "result": {"landed": "abababababababababababababababababababababababababababababababab"}, "seal": {"code": null, "facts": {"etag": "e1"}, "message": "", "source": {"at": "2026-04-01T09:02:00+00:00", "name": "x", "reader": "HEAD", "system": "s3"}, "state": "seen"}, "tries": 1, "verdicts": [], "witnessed": []}');
CREATE TABLE planexec_run_requests (
	seq INTEGER NOT NULL, 
	task VARCHAR(200) NOT NULL, 
	period VARCHAR(20) NOT NULL, 
	run_key VARCHAR(200) NOT NULL, 
	set_digest VARCHAR(64) NOT NULL, 
	objects INTEGER NOT NULL, 
	asked_at VARCHAR(40) NOT NULL, 
	started_at VARCHAR(40), 
	PRIMARY KEY (seq), 
	UNIQUE (task, run_key)
);
INSERT INTO "planexec_run_requests" VALUES(1,'t','2026-03','2026-03-01:9761e46f335c89a1','9761e46f335c89a148b93524100d15df6128471302ed58db821a405696ee385e',1,'2026-11-30T15:44:12.483786+00:00',NULL);
CREATE TABLE planexec_superseded_arrivals (
	task VARCHAR(200) NOT NULL, 
	bucket VARCHAR(200) NOT NULL, 
	object_key VARCHAR(1024) NOT NULL, 
	version VARCHAR(300) NOT NULL, 
	superseded_by VARCHAR(300) NOT NULL, 
	PRIMARY KEY (task, bucket, object_key, version)
);
CREATE INDEX planexec_attempts_month ON planexec_attempts (task, period);
CREATE INDEX planexec_events_attempt ON planexec_events (attempt, kind);
CREATE INDEX planexec_results_identity ON planexec_results (attempt, identity);
CREATE INDEX planexec_landings_month ON planexec_landings (task, period);
CREATE INDEX planexec_drop_period ON planexec_drop (task, period);
COMMIT;
