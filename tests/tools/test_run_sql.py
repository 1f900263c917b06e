"""`run_sql`: only admitted bytes, only named inputs, one transaction."""

import hashlib

import pytest

from dagster_planexec.contract.codes import CODES
from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.errors import PortError
from dagster_planexec.tools.run_sql import RunSql, RunSqlArgs, RunSqlResult
from tests.support.reconciling import MARCH, bench, make_world

INPUTS = {"ledger": "staging.ledger", "vendor": "staging.vendor"}
TEXT = "select charge_id, l.amount as a, v.amount as b from ledger l full join vendor v using (charge_id) order by 1;\n"


@pytest.fixture
def on(tmp_path):
    """A normal month and one SQL file."""
    out = bench(tmp_path)
    make_world(out, "normal")
    (out.sql / "q.sql").write_text(TEXT)
    return out


def args(**changes):
    return RunSqlArgs(**({"file": "q.sql", "inputs": INPUTS, "target": "recon.lines_202603"} | changes))


def test_the_result_is_a_table(on):
    """The query's rows in scope of the period, in a schema that is made if need be; the result names it."""
    outcome = on.call(RunSql(), args())

    assert outcome == Done(RunSqlResult(table="recon.lines_202603", rows=1002))
    assert on.rows("select count(*) from recon.lines_202603") == [(1002,)]


def test_it_can_be_run_again(on):
    """Create or replace: twice is once, and the seal is the same."""
    seals = []
    for _ in range(2):
        outcome = on.call(RunSql(), args())
        probe = RunSql().seal(args(), outcome.result, None)
        seals.append(probe.observe(on.ports).facts)

    assert seals[0] == seals[1]
    assert seals[0]["rows"] == 1002


def test_a_file_changed_after_admission_is_not_run(on):
    """The bytes that run are the bytes that were admitted."""
    admitted = on.admission()
    (on.sql / "q.sql").write_text(TEXT + "-- one more word\n")

    outcome = on.call(RunSql(), args(), admission=admitted)

    assert (outcome.code, "the SQL file changed since it was admitted" in outcome.message) == ("VALIDATION_ERROR", True)
    assert on.rows("select count(*) from information_schema.tables where table_schema = 'recon'") == [(0,)]


def test_a_file_that_was_not_admitted_is_not_run(on):
    """A file that appears later has no digest in the admission record."""
    admitted = on.admission()
    (on.sql / "new.sql").write_text(TEXT)

    outcome = on.call(RunSql(), args(file="new.sql"), admission=admitted)

    assert (outcome.code, "was not admitted; admitted: q.sql" in outcome.message) == ("VALIDATION_ERROR", True)


@pytest.mark.parametrize("name", ["../q.sql", "/etc/passwd", "link.sql", "folder/q.sql", "sub/../q.sql", "", "."])
def test_paths_stay_below_the_root(on, tmp_path, name):
    """Not up, not absolute, not through a link, even if somebody admitted the digest."""
    (tmp_path / "q.sql").write_text(TEXT)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "q.sql").write_text(TEXT)
    (on.sql / "link.sql").symlink_to(tmp_path / "q.sql")
    (on.sql / "folder").symlink_to(tmp_path / "elsewhere")
    admitted = on.admission()
    digests = {**admitted.sql_sha256, name: hashlib.sha256(TEXT.encode()).hexdigest()}

    outcome = on.call(RunSql(), args(file=name), admission=type(admitted)((), {}, digests))

    assert isinstance(outcome, Failed)
    assert outcome.code == "VALIDATION_ERROR"


def test_a_file_in_a_folder_is_below_the_root(on):
    """`march/q.sql` is a relative path like any other."""
    (on.sql / "march").mkdir()
    (on.sql / "march" / "q.sql").write_text(TEXT)

    assert isinstance(on.call(RunSql(), args(file="march/q.sql")), Done)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("lines", "not schema.table"),
        ("staging.ledger", "is a table that is read"),
        ("STAGING.Vendor", "is a table that is read"),
        ("books.charges", "is a table that is read"),
        ('recon.x"; drop table staging.ledger; --', "not a table name"),
        ("recon.a.b", "not a table name"),
    ],
)
def test_targets_are_tables_of_their_own(on, target, message):
    """Not an input, not a live table, not a trick; and nothing is changed by the attempt."""
    with pytest.raises(PortError, match=message) as error:
        on.call(RunSql(), args(target=target))

    assert error.value.code == "VALIDATION_ERROR"
    assert on.rows("select count(*) > 0 from staging.ledger") == [(True,)]


def test_a_dropped_input_is_table_gone(on):
    """TABLE_GONE names the table; nothing is written."""
    on.run("drop table staging.vendor")

    with pytest.raises(PortError) as error:
        on.call(RunSql(), args())

    assert error.value.code == "TABLE_GONE"
    assert "vendor" in error.value.message


def test_a_query_that_fails_leaves_the_old_result(on):
    """The replacement is one transaction."""
    assert isinstance(on.call(RunSql(), args()), Done)
    (on.sql / "q.sql").write_text("select cast(charge_id as integer) as n from ledger, vendor")

    with pytest.raises(PortError):
        on.call(RunSql(), args())

    assert on.rows("select count(*) from recon.lines_202603") == [(1002,)]


def test_the_deadline_ends_the_query(on):
    """A query without end ends with TIMEOUT."""
    (on.sql / "q.sql").write_text(
        "select count(*) as n from ledger a, ledger b, ledger c, vendor d where a.amount * b.amount > c.amount"
    )

    with pytest.raises(PortError) as error:
        on.call(RunSql(), args(), deadline_s=0.5)

    assert error.value.code == "TIMEOUT"


def test_sql_sees_inputs_only_by_their_names(on):
    """The view is the input in scope; rows of February are not in it."""
    (on.sql / "q.sql").write_text(
        "select least((select min(charge_date) from ledger), (select min(charge_date) from vendor)) as first_day"
    )

    assert isinstance(on.call(RunSql(), args()), Done)
    assert on.rows("select cast(first_day as varchar) from recon.lines_202603") == [(str(MARCH.start),)]


def test_the_contract_is_what_the_design_says():
    """A write with the two reconciliation checks after it, before any other; every error code is a known one."""
    contract = RunSql().contract

    assert (contract.effect, contract.writes) == ("write", "target")
    assert contract.postconditions[:2] == ("both_sides_contribute", "closing_identities_hold")
    assert contract.postconditions[2:] == ("match_rate_is_plausible", "expectations_hold")
    assert set(contract.errors) <= set(CODES)
