"""Section 7 of the design: every query shape in every world, with the verdict of each cell stated beside the query."""

import hashlib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from dagster_planexec.checks.check import NotApplicable
from dagster_planexec.checks.reconcile.both_sides_contribute import both_sides_contribute
from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.contract.tool import Admission
from dagster_planexec.errors import PlanexecError
from dagster_planexec.tools.run_sql import RunSql, RunSqlArgs
from tests.support.reconciling import COLUMNS, VENDOR, bench, make_world, with_limits

CASES = Path(__file__).resolve().parents[2] / "cases" / "both_sides"
INPUTS = {"ledger": "staging.ledger", "vendor": "staging.vendor"}
WORLDS = tuple(VENDOR)


def header(path):
    """The `-- name: value` lines at the top of a case."""
    lines = (line[3:].partition(": ") for line in path.read_text().splitlines() if line.startswith("-- "))
    return {name: value for name, _, value in lines}


JUDGED = {path.stem: header(path) for path in sorted(CASES.glob("*.sql")) if not path.stem.startswith("refused_")}
REFUSED = {path.stem: header(path)["refused"] for path in sorted(CASES.glob("refused_*.sql"))}
CELLS = [(name, world, stated[world]) for name, stated in JUDGED.items() for world in WORLDS]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """One warehouse for each world, with the case files as its SQL folder."""
    out = {}
    for world in WORLDS:
        out[world] = bench(tmp_path_factory.mktemp(world))
        for path in CASES.glob("*.sql"):
            (out[world].sql / path.name).write_bytes(path.read_bytes())
        make_world(out[world], world)
    return out


def run(on, name, **changes):
    """Run a case as a step does, then judge it."""
    args = RunSqlArgs(**({"file": f"{name}.sql", "inputs": INPUTS, "target": f"recon.{name}"} | changes))
    outcome = on.call(RunSql(), args)
    assert isinstance(outcome, Done), outcome
    (verdict,) = on.verdicts(both_sides_contribute, RunSql(), args)
    return verdict


def test_the_table_is_as_large_as_it_says():
    """At least 36 judged query shapes, each with a verdict for each of the five worlds."""
    assert len(JUDGED) >= 36
    assert all(set(stated) == {"what", *WORLDS} for stated in JUDGED.values())


@pytest.mark.parametrize(("name", "world", "stated"), CELLS, ids=[f"{name}-{world}" for name, world, _ in CELLS])
def test_verdict_of_each_cell(worlds, name, world, stated):
    """The verdict is the one that the case file states for this world."""
    status, *rest = stated.split()

    seen = run(worlds[world], name)

    if status == "passed":
        assert (seen.status, seen.code) == ("passed", None), seen.text
        nothing_found_of = rest[1:]
        for side in ("ledger", "vendor"):
            assert (f"{side}: " in seen.text) == (side in nothing_found_of), seen.text
    else:
        code, *sides = rest
        assert (seen.status, seen.code) == (status, code), seen.text
        assert seen.text.startswith(f"{code}({sides[0]}):" if sides else f"{code}:"), seen.text
    assert seen.opens == (status == "passed")


@pytest.mark.parametrize("world", WORLDS)
def test_side_counts_are_always_named(worlds, world):
    """Whatever the verdict, its text names the plain pair of side counts, in scope of the period."""
    rows = {"normal": 1000, "perfect": 1000, "vendor-empty": 0, "wrong-month": 1000, "one-row": 1}[world]

    seen = run(worlds[world], "full_join_with_status")

    assert f"ledger 1000 rows, vendor {rows} rows" in seen.text
    assert f"ledger 1000 rows, vendor {rows} rows" in str(seen.observed.value)


@pytest.mark.parametrize(("name", "code"), REFUSED.items(), ids=list(REFUSED))
def test_what_cannot_be_judged_is_refused(worlds, name, code):
    """Queries that no ablation can judge never run; the refusal names the rule."""
    args = RunSqlArgs(file=f"{name}.sql", inputs=INPUTS, target=f"recon.{name}")

    outcome = worlds["normal"].call(RunSql(), args)

    assert isinstance(outcome, Failed)
    assert outcome.code == "VALIDATION_ERROR"
    assert f"{code}: " in outcome.message
    assert worlds["normal"].rows(f"select 1 from information_schema.tables where table_name = '{name}'") == []


# ---------------------------------------------------------------------------------- one fact at a time


@pytest.fixture
def on(tmp_path):
    """A bench of its own for tests that change something."""
    out = bench(tmp_path)
    make_world(out, "normal")
    return out


FULL = (CASES / "full_join_with_status.sql").read_text()


def args_for(on, text, **changes):
    (on.sql / "q.sql").write_text(text)
    return RunSqlArgs(**({"file": "q.sql", "inputs": INPUTS, "target": "recon.lines"} | changes))


def verdict_of(on, text, **changes):
    args = args_for(on, text, **changes)
    outcome = on.call(RunSql(), args)
    assert isinstance(outcome, Done), outcome
    return on.verdicts(both_sides_contribute, RunSql(), args)[0]


def test_a_result_that_is_not_the_query_s_is_not_evaluated(on):
    """If the stored rows are not what the query gives again, nothing is judged: NONDETERMINISTIC."""
    args = args_for(on, FULL)
    assert isinstance(on.call(RunSql(), args), Done)
    on.run("update recon.lines set ledger_amount = ledger_amount + 1 where charge_id = 'C0001'")

    (seen,) = on.verdicts(both_sides_contribute, RunSql(), args)

    assert (seen.status, seen.code, seen.opens) == ("not-evaluated", "NONDETERMINISTIC", False)


def test_swapped_amounts_are_another_result(on):
    """Two lines whose amounts are swapped do not cancel out in the fingerprint, as they would under XOR."""
    args = args_for(on, FULL)
    assert isinstance(on.call(RunSql(), args), Done)
    on.run(
        "update recon.lines set ledger_amount = case charge_id when 'C0001' then 12 else 11 end "
        "where charge_id in ('C0001', 'C0002')"
    )

    (seen,) = on.verdicts(both_sides_contribute, RunSql(), args)

    assert seen.code == "NONDETERMINISTIC"


def test_a_dropped_result_shuts_the_gate(on):
    """No stored result: failed TABLE_GONE."""
    args = args_for(on, FULL)

    (seen,) = on.verdicts(both_sides_contribute, RunSql(), args)

    assert (seen.status, seen.code) == ("failed", "TABLE_GONE")


def test_a_changed_query_is_not_run_again(on):
    """The probe runs the admitted bytes or none: a file edited after the run gives no observation."""
    args = args_for(on, FULL)
    admitted = on.admission()
    assert isinstance(on.call(RunSql(), args), Done)
    (on.sql / "q.sql").write_text("select * from ledger, vendor")

    (check,) = both_sides_contribute(on.scope(RunSql(), args, admission=admitted), "post")

    with pytest.raises(PlanexecError, match="changed since it was admitted"):
        check.observes.observe(on.ports)


def test_a_file_that_was_not_admitted_shuts_the_gate(on):
    """Without a digest in the admission record the probe has nothing to compare with, and answers nothing."""
    args = args_for(on, FULL)
    (check,) = both_sides_contribute(on.scope(RunSql(), args, admission=Admission((), {}, {})), "post")

    with pytest.raises(PlanexecError, match="changed since it was admitted"):
        check.observes.observe(on.ports)


J = "from ledger l full join vendor v using (charge_id)"
LIKE_WITH_LIKE = {
    "untyped nulls": f"select charge_id, null as note, [] as tags {J}",
    "structs": f"select charge_id, {{'a': l.amount, 'b': v.amount}} as pair {J}",
    "one name twice": f"select charge_id, l.amount, v.amount {J}",
    "other types": f"select charge_id, 1.5 as x, 1e3 as y, interval 1 day as z, v.charge_date::timestamptz as t, "
    f"true as b, 'x'::blob as w {J}",
    "odd names": f'select charge_id, v.amount as "planexec", l.amount as "Row" {J}',
    "comment at the end": f"select charge_id {J} -- a comment; and a semicolon",
    "comment behind the semicolon": f"select charge_id {J}; -- done",
    "from first": f"{J} select charge_id order by charge_id;",
    "brackets": f"(select charge_id {J})",
}


@pytest.mark.parametrize("text", LIKE_WITH_LIKE.values(), ids=list(LIKE_WITH_LIKE))
def test_stored_and_rerun_are_compared_like_with_like(on, text):
    """Storing a result changes no value and no type in a way that the fingerprint would see."""
    seen = verdict_of(on, text)

    assert (seen.status, seen.text.split(" (")[0]) == ("passed", "every side contributes")


def test_small_amount_columns_do_not_break_the_far_probe(on):
    """An amount beyond the side's sum need not fit the column: DECIMAL(5,2) with 1,000 rows is still probed."""
    on.run(
        "create or replace table staging.ledger as "
        "select * replace (amount::decimal(5,2) as amount) from staging.ledger",
        "create or replace table staging.vendor as select * from staging.ledger where charge_date >= date '2026-03-01'",
    )

    seen = verdict_of(
        on,
        "select charge_id, l.amount as a from ledger l join vendor v using (charge_id) "
        "where abs(l.amount - v.amount) > 900",
    )

    assert seen.status == "passed"
    assert "ledger: amount +" in seen.text


def test_a_query_that_fails_on_changed_data_is_said_so(on):
    """A probe under which the query itself raises proves nothing; it is named and the gate stays shut."""
    make_world(on, "perfect")

    seen = verdict_of(
        on,
        "select charge_id from ledger l join vendor v using (charge_id) "
        "where case when l.amount <> v.amount then cast('no' as integer) else 0 end = 1",
    )

    assert (seen.status, seen.code) == ("not-evaluated", "INDETERMINATE_SIDE")
    assert "not tried: amount +1" in seen.text


def test_coverage_bound_is_the_task_s(on):
    """998 of 1,000 matched keys are enough for 0.998 and too few for 0.999."""
    on.task = with_limits(on.task, min_matched_share=Decimal("0.998"))
    assert verdict_of(on, FULL).status == "passed"

    on.task = with_limits(on.task, min_matched_share=Decimal("0.999"))
    seen = verdict_of(on, FULL)

    assert (seen.code, seen.expected.source.subject.system) == ("COVERAGE_LOW", "task")
    assert "998 of 1000 keys of ledger" in seen.text


def test_either_side_can_have_too_little_coverage(on):
    """A ledger that is all matched does not excuse a vendor of which half is unknown."""
    on.run("insert into staging.vendor select 'X' || charge_id, * exclude (charge_id) from staging.vendor")

    assert verdict_of(on, FULL).text.startswith("COVERAGE_LOW(vendor)")


def test_keys_are_compared_as_trimmed_text(on):
    """' C0001 ' and 'C0001' are one key to the harness, and so are 7 and '7'."""
    on.run("update staging.vendor set charge_id = '  ' || charge_id || ' '")

    assert verdict_of(on, "select * from ledger union all select * from vendor").status == "passed"


def test_keys_of_several_columns_match_as_a_whole(tmp_path):
    """A key of two columns is shared only if both parts are; 'ab'+'c' is not 'a'+'bc'."""
    on = bench(tmp_path)
    on.task = replace(
        on.task,
        contracts={"charges": on.task.contracts["charges"].model_copy(update={"key": ("account_id", "charge_id")})},
    )
    on.run(
        "create schema staging",
        f"create table staging.ledger ({COLUMNS})",
        f"create table staging.vendor ({COLUMNS})",
        "insert into staging.ledger values ('bc', 'a', 'EU', 5, '2026-03-01')",
        "insert into staging.vendor values ('c', 'ab', 'EU', 5, '2026-03-01')",
    )
    assert verdict_of(on, "select * from ledger union all select * from vendor").code == "NOTHING_MATCHED"

    on.run("update staging.vendor set charge_id = 'bc', account_id = 'a'")
    silent = (
        "select charge_id from ledger l where not exists "
        "(select 1 from vendor v where v.charge_id = l.charge_id and v.account_id = l.account_id)"
    )
    seen = verdict_of(on, silent)

    assert seen.status == "passed"
    assert "ledger: matched rows added under fresh keys (account_id)" in seen.text


@pytest.mark.parametrize(("kind", "value"), [("bigint", "7"), ("decimal(9,2)", "7.00"), ("date", "date '2026-03-07'")])
def test_fresh_keys_exist_for_every_declared_type(tmp_path, kind, value):
    """A key that is a whole number, a decimal or a date can be made fresh too, so an anti-join is found sensitive."""
    on = bench(tmp_path)
    on.run(
        "create schema staging",
        f"create table staging.ledger (charge_id {kind}, amount decimal(18,2), charge_date date)",
        f"insert into staging.ledger values ({value}, 5, '2026-03-01')",
        "create table staging.vendor as select * from staging.ledger",
    )

    seen = verdict_of(on, "select * from ledger where charge_id not in (select charge_id from vendor)")

    assert seen.status == "passed"
    assert "ledger: matched rows added under fresh keys" in seen.text


def test_rows_without_a_key_match_nothing(on):
    """Null and blank keys are no keys: two sides that share only those have nothing in common."""
    on.run("update staging.ledger set charge_id = null", "update staging.vendor set charge_id = ' '")

    assert verdict_of(on, "select * from ledger union all select * from vendor").code == "NOTHING_MATCHED"


def test_out_of_scope_rows_are_not_a_side(on):
    """A ledger of February rows only is empty in March."""
    on.run("delete from staging.ledger where charge_date >= date '2026-03-01'")

    assert verdict_of(on, FULL).text.startswith("EMPTY_SIDE(ledger)")


def test_lookups_are_recorded_and_never_judged(tmp_path):
    """A lookup that the query does not need, or that is empty, fails nothing; its rows are among the facts."""
    on = bench(tmp_path, lookups=("regions",))
    make_world(on, "normal")
    on.run(f"create table staging.regions ({COLUMNS})")
    args = args_for(on, FULL, inputs=INPUTS | {"regions": "staging.regions"})
    assert isinstance(on.call(RunSql(), args), Done)

    (check,) = both_sides_contribute(on.scope(RunSql(), args), "post")
    observed = check.observes.observe(on.ports)

    assert check.verdict({check.observes: observed}).status == "passed"
    assert observed["lookups"] == {"regions": 0}
    assert set(observed["without"]) == {"ledger", "vendor"}


@pytest.mark.parametrize(("world", "ledger", "vendor"), [("normal", "counted", "counted"), ("perfect", "read", "read")])
def test_without_a_side_values_are_read_only_if_the_count_is_the_same(tmp_path, world, ledger, vendor):
    """Another number of rows is another result already; as many rows are compared value by value."""
    on = bench(tmp_path)
    make_world(on, world)
    args = args_for(on, FULL)
    assert isinstance(on.call(RunSql(), args), Done)

    (check,) = both_sides_contribute(on.scope(RunSql(), args), "post")
    without = check.observes.observe(on.ports)["without"]

    assert {side: "read" if "digest" in said else "counted" for side, said in without.items()} == {
        "ledger": ledger,
        "vendor": vendor,
    }


THREE = {"ledger": "staging.ledger", "vendor": "staging.vendor", "bank": "staging.bank"}
THREE_WAY = (
    "select charge_id, l.amount as l, v.amount as v, b.amount as b from ledger l full join vendor v using (charge_id) "
    "full join bank b using (charge_id) where l.amount is distinct from v.amount or v.amount is distinct from b.amount"
)


@pytest.mark.parametrize(
    ("bank", "text", "stated"),
    [
        ("select * from staging.ledger", THREE_WAY, "passed"),
        ("select * from staging.ledger where false", THREE_WAY, "EMPTY_SIDE(bank)"),
        ("select * from staging.ledger", "select * from ledger full join vendor using (charge_id)", "ONE_SIDED(bank)"),
        (
            "select * replace ('B' || charge_id as charge_id) from staging.ledger",
            THREE_WAY,
            "NOTHING_MATCHED: ledger and bank",
        ),
        ("select * from staging.ledger where charge_id = 'C0001'", THREE_WAY, "COVERAGE_LOW(ledger)"),
        (
            "select * from staging.ledger",
            "select charge_id from ledger join vendor using (charge_id) join bank using (charge_id) where 1 = 0",
            "INDETERMINATE_SIDE(ledger)",
        ),
    ],
    ids=["agree", "empty", "ignored", "foreign-keys", "one-row", "never"],
)
def test_three_sides(tmp_path, bank, text, stated):
    """The rule holds for each of three sides, and matching for each pair of them."""
    on = bench(tmp_path, sides=("ledger", "vendor", "bank"))
    make_world(on, "perfect")
    on.run("delete from staging.ledger where charge_date < date '2026-03-01'", f"create table staging.bank as {bank}")

    seen = verdict_of(on, text, inputs=THREE)

    assert seen.text.startswith(stated) if stated != "passed" else seen.status == "passed", seen.text
    assert "ledger 1000 rows, vendor 1000 rows, bank " in seen.text


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"ledger": "staging.ledger"}, "side 'vendor' is not given"),
        (INPUTS | {"other": "staging.other"}, "input 'other' is not declared"),
        ({"ledger": "staging.ledger", "vendor": "Staging.LEDGER"}, "are one table"),
    ],
    ids=["missing-side", "undeclared", "one-table-twice"],
)
def test_inputs_that_would_make_the_check_blind_are_refused(on, inputs, message):
    """A plan cannot leave a side out, add one of its own, or give one table for both sides."""
    outcome = on.call(RunSql(), args_for(on, FULL, inputs=inputs))

    assert isinstance(outcome, Failed)
    assert message in outcome.message


def test_both_sides_of_the_verdict_have_their_own_source(on):
    """Observed is the stored result by the query itself, expected is the task's statement; neither is null."""
    seen = verdict_of(on, FULL)

    assert (seen.expected.source.subject.system, seen.observed.source.subject.name) == ("task", "recon.lines")
    assert seen.expected.source.is_independent_of(seen.observed.source)
    assert None not in (seen.expected.value, seen.observed.value)


def test_not_applicable_without_sides(tmp_path):
    """A task that compares nothing has no sides to judge, and the verdict names the clause."""
    on = bench(tmp_path)
    on.task = replace(on.task, inputs=())
    args = args_for(on, "select 1", inputs={})

    (check,) = both_sides_contribute(on.scope(RunSql(), args), "post")

    assert isinstance(check, NotApplicable)
    assert check.clause.subject.system == "task"


def test_tool_and_check_bind_the_same_views(on):
    """Equal arguments make equal probes, so the executor looks once for two equal questions."""
    args = args_for(on, FULL)
    one, other = (both_sides_contribute(on.scope(RunSql(), args), "post")[0] for _ in range(2))

    assert one.observes == other.observes
    assert hash(one.observes) == hash(other.observes)
    assert one.observes.query.sha256 == hashlib.sha256(FULL.encode()).hexdigest()
