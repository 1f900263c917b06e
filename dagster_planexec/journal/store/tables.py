"""The journal's tables as they are now. How a journal gets there from an older one: `migrations`."""

from __future__ import annotations

import sqlalchemy as sa

from dagster_planexec.journal.store.migrations.dialect import SEQUENCE, TEXT

metadata = sa.MetaData()

plans = sa.Table(
    "planexec_plans",
    metadata,
    sa.Column("digest", TEXT, primary_key=True),
    sa.Column("semantic_digest", TEXT, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("saved_at", TEXT, nullable=False),
)

attempts = sa.Table(
    "planexec_attempts",
    metadata,
    sa.Column("id", TEXT, primary_key=True),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("task_version", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("inputs_digest", TEXT, nullable=False),
    sa.Column("admission", TEXT, nullable=False),
    sa.Column("plan_digest", TEXT),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("provenance", TEXT),
    sa.Column("status", TEXT, nullable=False),
    sa.Column("code", TEXT),
    sa.Column("opened_at", TEXT, nullable=False),
    sa.Column("opened_seq", sa.Integer, nullable=False),
    sa.Index("planexec_attempts_month", "task", "period"),
    # Two runs that open the same month at the same instant must agree on one attempt.
    sa.UniqueConstraint("task", "period", "opened_seq"),
)

events = sa.Table(
    "planexec_events",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("attempt", TEXT, nullable=False),
    sa.Column("at", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("step", TEXT),
    sa.Column("run_id", TEXT),
    sa.Column("payload", TEXT, nullable=False),
    sa.Index("planexec_events_attempt", "attempt", "kind"),
)

results = sa.Table(
    "planexec_results",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("attempt", TEXT, nullable=False),
    sa.Column("identity", TEXT, nullable=False),
    sa.Column("step", TEXT, nullable=False),
    sa.Column("tool", TEXT, nullable=False),
    sa.Column("run_id", TEXT, nullable=False),
    sa.Column("body", TEXT, nullable=False),
    sa.Index("planexec_results_identity", "attempt", "identity"),
)

landings = sa.Table(
    "planexec_landings",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("bucket", TEXT, nullable=False),
    sa.Column("object_key", TEXT, nullable=False),
    sa.Column("sha256", TEXT, nullable=False),
    sa.Column("attempt", TEXT, nullable=False),
    sa.Column("object", TEXT, nullable=False),
    sa.Column("landed_at", TEXT, nullable=False),
    sa.Index("planexec_landings_month", "task", "period"),
)

holds = sa.Table(
    "planexec_holds",
    metadata,
    sa.Column("id", TEXT, primary_key=True),
    sa.Column("attempt", TEXT, nullable=False),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("step", TEXT, nullable=False),
    sa.Column("code", TEXT, nullable=False),
    sa.Column("plan_digest", TEXT, nullable=False),
    sa.Column("body", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("opened_at", TEXT, nullable=False),
    # What a decision about it is bound to, as canonical JSON; None for holds that nobody can release.
    sa.Column("bound", TEXT),
    # What else a person is shown, as JSON.
    sa.Column("shown", TEXT),
    sa.Column("expires_at", TEXT),
    sa.Column("closed_at", TEXT),
    sa.Column("closed_because", TEXT),
    # A month asks at most one question at a time.
    sa.Index(
        "planexec_holds_open",
        "task",
        "period",
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    ),
)

reports = sa.Table(
    "planexec_reports",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("task_run_id", TEXT, nullable=False, unique=True),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("attempt", TEXT),
    sa.Column("body", TEXT, nullable=False),
)

arrivals = sa.Table(
    "planexec_arrivals",
    metadata,
    sa.Column("task", TEXT, primary_key=True),
    sa.Column("bucket", TEXT, primary_key=True),
    sa.Column("object_key", TEXT, primary_key=True),
    sa.Column("version", TEXT, primary_key=True),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("first_seen", TEXT, nullable=False),
    # The newest run key under which it was asked for.
    sa.Column("requested", TEXT),
)

# What lies in the drop now. Tables of their own, so that a journal from before them needs no other column.
drop = sa.Table(
    "planexec_drop",
    metadata,
    sa.Column("task", TEXT, primary_key=True),
    sa.Column("bucket", TEXT, primary_key=True),
    sa.Column("object_key", TEXT, primary_key=True),
    sa.Column("period", TEXT, primary_key=True),
    sa.Column("version", TEXT, nullable=False),
    sa.Column("changed_at", TEXT, nullable=False),
    sa.Column("requested", TEXT),
    sa.Index("planexec_drop_period", "task", "period"),
)

superseded = sa.Table(
    "planexec_superseded_arrivals",
    metadata,
    sa.Column("task", TEXT, primary_key=True),
    sa.Column("bucket", TEXT, primary_key=True),
    sa.Column("object_key", TEXT, primary_key=True),
    sa.Column("version", TEXT, primary_key=True),
    sa.Column("superseded_by", TEXT, nullable=False),
)

requests = sa.Table(
    "planexec_run_requests",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("run_key", TEXT, nullable=False),
    sa.Column("set_digest", TEXT, nullable=False),
    sa.Column("objects", sa.Integer, nullable=False),
    sa.Column("asked_at", TEXT, nullable=False),
    # When a run of that key was found. Until then the request may never have reached anyone.
    sa.Column("started_at", TEXT),
    sa.UniqueConstraint("task", "run_key"),
)

schema = sa.Table(
    "planexec_schema",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("applied_at", TEXT, nullable=False),
)

# A row in it lets the transaction that holds it delete events; see `append_only`.
pruning = sa.Table("planexec_pruning", metadata, sa.Column("since", TEXT, primary_key=True))

# Every step of a plan run that ended with a code. It outlives the events it was learnt from.
failures = sa.Table(
    "planexec_failures",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("run_id", TEXT, nullable=False),
    sa.Column("step", TEXT, nullable=False),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("attempt", TEXT, nullable=False),
    sa.Column("plan_digest", TEXT, nullable=False),
    sa.Column("tool", TEXT, nullable=False),
    sa.Column("code", TEXT, nullable=False),
    sa.Column("check_name", TEXT),
    sa.Column("shape", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("at", TEXT, nullable=False),
    sa.Column("resolved_by", TEXT),
    sa.Column("resolved_at", TEXT),
    sa.UniqueConstraint("run_id", "step"),
    sa.Index("planexec_failures_month", "task", "period"),
)

# Every plan run that was looked at for failures: what a count is a share of.
runs_noted = sa.Table(
    "planexec_runs_noted",
    metadata,
    sa.Column("run_id", TEXT, primary_key=True),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("at", TEXT, nullable=False),
    sa.Index("planexec_runs_noted_task", "task"),
)

# One row for each month that was ever run: who holds it, or who held it last.
leases = sa.Table(
    "planexec_leases",
    metadata,
    sa.Column("task", TEXT, primary_key=True),
    sa.Column("period", TEXT, primary_key=True),
    # Rises with every holder; what is written under an older one is refused.
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("holder", TEXT, nullable=False),
    sa.Column("taken_at", TEXT, nullable=False),
    sa.Column("beat_at", TEXT, nullable=False),
    # The same instant in seconds since the machine of the holder was started.
    sa.Column("beat_s", sa.Float),
    sa.Column("lasts_s", sa.Integer, nullable=False),
)

# Every run that came while another held its month, and did nothing.
stood_back = sa.Table(
    "planexec_stood_back",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    # Of the lease it found.
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("run_id", TEXT),
    # Under which a sensor or schedule had asked for it: what it was asked for is still to be done.
    sa.Column("run_key", TEXT),
    sa.Column("at", TEXT, nullable=False),
    sa.Index("planexec_stood_back_month", "task", "period"),
)

# Every line that was ever to be issued, written before it is. The key names no task, tool, plan or attempt.
effects = sa.Table(
    "planexec_effects",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("effect_scope", TEXT, nullable=False),
    sa.Column("period", TEXT, nullable=False),
    sa.Column("line_key", TEXT, nullable=False),
    # 1 for the line itself, 2 and more for what was issued on top when its amount had risen.
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("amount", TEXT, nullable=False),
    sa.Column("currency", TEXT, nullable=False),
    sa.Column("target", TEXT, nullable=False),
    sa.Column("task", TEXT, nullable=False),
    sa.Column("tool", TEXT, nullable=False),
    sa.Column("attempt", TEXT, nullable=False),
    sa.Column("run_id", TEXT, nullable=False),
    sa.Column("token", sa.BigInteger),
    sa.Column("hold_id", TEXT),
    sa.Column("intended_at", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("ended_at", TEXT),
    sa.Column("said", TEXT),
    # The person who said how it ended, where nobody could find out.
    sa.Column("settled_by", TEXT),
    sa.UniqueConstraint("effect_scope", "period", "line_key", "ordinal"),
    sa.Index("planexec_effects_task", "task", "period"),
)

# How the state of an effect has changed, and who changed it: a run, a look-up, a person.
effect_changes = sa.Table(
    "planexec_effect_changes",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("effect", sa.BigInteger, nullable=False),
    sa.Column("at", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("by", TEXT, nullable=False),
    sa.Column("said", TEXT, nullable=False),
    sa.Index("planexec_effect_changes_effect", "effect"),
)

# What people decided about holds: the signed text, and its signature.
decisions = sa.Table(
    "planexec_decisions",
    metadata,
    sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
    sa.Column("hold_id", TEXT, nullable=False),
    sa.Column("decision", TEXT, nullable=False),
    sa.Column("by", TEXT, nullable=False),
    sa.Column("at", TEXT, nullable=False),
    sa.Column("key_id", TEXT, nullable=False),
    sa.Column("body", TEXT, nullable=False),
    sa.Column("signature", TEXT, nullable=False),
    sa.UniqueConstraint("hold_id", "by"),
)

# Which news of a hold somebody was told of.
hold_notices = sa.Table(
    "planexec_hold_notices",
    metadata,
    sa.Column("hold_id", TEXT, primary_key=True),
    sa.Column("kind", TEXT, primary_key=True),
    sa.Column("at", TEXT, nullable=False),
)
