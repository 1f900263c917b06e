"""What SQL of a task may say: each refusal, and what must not be refused."""

import duckdb
import pytest

from dagster_planexec.checks.sql_lint import lint_sql

INPUTS = ("ledger", "vendor")
KEYS = (("charge_id",),)
J = "from ledger l join vendor v using (charge_id)"


def codes(sql, **changes):
    return {problem.code for problem in lint_sql(sql, **({"inputs": INPUTS, "keys": KEYS} | changes))}


ACCEPTED = {
    "plain": "select * from ledger",
    "other case": "SELECT * FROM Ledger",
    "quoted": 'select * from "ledger"',
    "from first": "from ledger",
    "brackets": "(select * from ledger)",
    "semicolon": "select * from ledger;",
    "semicolons": "select * from ledger;;\n",
    "comments": "-- drop table x; \nselect * /* limit 1 */ from ledger -- the end; really",
    "comment behind semicolon": "select * from ledger; -- done",
    "text that looks like code": "select 'now() limit 1; drop table x' as note, \"limit\" from ledger",
    "cte": "with a as (select * from ledger), b as (select * from a) select * from b join a using (charge_id)",
    "cte in other case": "with A as (select * from ledger) select * from a",
    "cte takes the name of its input": "with vendor as (select * from vendor where amount > 0) select * from vendor",
    "nested with": "with a as (with b as (select * from ledger) select * from b) select * from a",
    "with in a subquery": "select * from (with b as (select * from ledger) select * from b) x",
    "cte seen from a subquery": "with a as (select 1 as x) select * from ledger where amount in (select x from a)",
    "cte over a union": "with a as (select 1 as x) select * from a union all select x from a",
    "recursive": "with recursive t(n) as (select 1 union all select n + 1 from t where n < 3) select * from t, ledger",
    "lateral": "select * from ledger l, lateral (select * from vendor v where v.charge_id = l.charge_id) x",
    "unnest": "select u.t from ledger l, unnest([1, 2]) u(t)",
    "values": "select * from ledger join (values ('EU', 1)) m(region, n) using (region)",
    "exists": "select * from ledger l where exists (select 1 from vendor v where v.charge_id = l.charge_id)",
    "scalar subquery": "select (select sum(amount) from vendor) as billed from ledger",
    "set operations": "select region from ledger except select region from vendor intersect select region from ledger",
    "self join": "select a.charge_id from ledger a join ledger b on a.account_id = b.account_id",
    "aggregates": "select region, sum(amount), count(distinct charge_id), median(amount) from ledger group by all",
    "filter": f"select count(*) filter (where l.amount > v.amount) {J}",
    "ordered list": "select string_agg(charge_id, ',' order by charge_id), list(amount order by amount) from ledger",
    "ordered list with filter": "select array_agg(charge_id order by charge_id) filter (where amount > 1) from ledger",
    "order by": "select * from ledger order by charge_id",
    "sum over partition": "select sum(amount) over (partition by account_id) from ledger",
    "running sum of peers": "select sum(amount) over (partition by account_id order by charge_date) from ledger",
    "rank": "select rank() over (order by amount) from ledger",
    "row number by key": "select row_number() over (partition by account_id order by amount, charge_id) from ledger",
    "row number in key": "select row_number() over (partition by charge_id order by charge_date) from ledger",
    "named window": "select row_number() over w from ledger window w as (partition by account_id order by charge_id)",
    "lag by key": "select lag(amount) over (partition by account_id order by charge_date, charge_id) from ledger",
    "rows frame by key": "select sum(amount) over (order by charge_id rows 2 preceding) from ledger",
    "date arithmetic": "select charge_date + interval 1 day, age(charge_date, date '2026-01-01') from ledger",
    "column named like a function": "select l.user, l.now, l.first, l.mode from ledger l",
    "star with changes": "select * exclude (region) replace (amount + 1 as amount) from ledger",
    "natural join": "select * from ledger natural join vendor",
    "anti join": "select * from ledger anti join vendor using (charge_id)",
    "cast": "select cast(amount as decimal(18,2)), try_cast(region as integer), amount::varchar from ledger",
}  # fmt: skip


@pytest.mark.parametrize("sql", ACCEPTED.values(), ids=list(ACCEPTED))
def test_accepted(sql):
    """Ordinary comparing SQL is not refused."""
    assert lint_sql(sql, inputs=INPUTS, keys=KEYS) == ()


@pytest.mark.parametrize(
    "sql",
    [
        f"select * {J} limit 10",
        f"select * {J} order by charge_id limit 10",
        f"select * {J} offset 1",
        f"select * {J} order by charge_id fetch first 3 rows only",
        "select * from ledger where charge_id in (select charge_id from vendor limit 1)",
        "with a as (select * from ledger limit 3) select * from a",
        "select distinct on (region) * from ledger",
        "select first(amount) from ledger",
        "select last(amount) from ledger",
        "select any_value(amount) from ledger",
        "select arbitrary(amount) from ledger",
        "select arg_min(charge_id, amount) from ledger",
        "select max_by(charge_id, amount) from ledger",
        "select mode(region) from ledger",
        "select string_agg(charge_id, ',') from ledger",
        "select list(charge_id) from ledger",
        "select list(distinct charge_id) from ledger",
        "select array_agg(charge_id) filter (where amount > 1) from ledger",
        "select group_concat(charge_id) from ledger",
        "select string_agg(x, ',') from (select charge_id as x from ledger order by x)",
        "select list((select max(v.amount) from vendor v order by 1)) from ledger",
        "select row_number() over () from ledger",
        "select row_number() over (partition by region) from ledger",
        "select row_number() over (order by amount) from ledger",
        "select row_number() over w from ledger window w as (partition by region)",
        "select lag(amount) over (partition by region order by charge_date) from ledger",
        "select first_value(amount) over (partition by region) from ledger",
        "select rank() over () from ledger",
        "select ntile(4) over (order by amount) from ledger",
        "select sum(amount) over (order by amount rows between 1 preceding and current row) from ledger",
        "select list(amount) over (partition by region) from ledger",
        "select * from ledger qualify row_number() over (partition by region) = 1",
        "select * from ledger using sample 10",
        "select * from ledger tablesample 10%",
        "select * from ledger where random() < 0.5",
        "select * from ledger order by random()",
        "select main.random() from ledger",
        "select uuid(), charge_id from ledger",
        "select * from ledger where charge_date < now()",
        "select * from ledger where charge_date < today()",
        "select current_date, current_timestamp, localtimestamp from ledger",
        "select age(charge_date) from ledger",
        "select user from ledger",
        "select getvariable('x'), current_setting('threads') from ledger",
        "select nextval('s') from ledger",
        "select rowid from ledger",
        "select l.rowid from ledger l",
        "select * from ledger positional join vendor",
        "select * from ledger asof join vendor on ledger.charge_date >= vendor.charge_date",
        "select * from ledger pivot (sum(amount) for region in ('EU'))",
        "select approx_quantile(amount, 0.5) from ledger",
        'select "now"() from ledger',
        'select "uuidv7"(), charge_id from ledger',
        """select "current_setting"('threads') from ledger""",
        'select "arbitrary"(amount) from ledger',
        'select main."first"(amount) from ledger',
        "select ago(interval 0 day)::date from ledger",
    ],
)
def test_nondeterministic_query(sql):
    """Chance, the clock, the session and the order of rows are refused, each with the piece of text that says so."""
    problems = lint_sql(sql, inputs=INPUTS, keys=KEYS)

    assert {problem.code for problem in problems} == {"nondeterministic-query"}
    assert all(problem.text.startswith("'") or problem.text.startswith('"') for problem in problems)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from charges",
        "select * from books.charges",
        "select * from main.ledger",
        "select * from 'ledger.csv'",
        "select * from '/etc/passwd'",
        "select * from read_csv('x.csv')",
        "select * from read_parquet('s3://bucket/x')",
        "select * from range(10)",
        "select * from generate_series(1, 3)",
        "select * from glob('*')",
        "select * from query('select 1')",
        "select * from query_table('ledger')",
        "select * from duckdb_tables()",
        "select * from pragma_table_info('ledger')",
        "select * from information_schema.tables",
        "select * from sqlite_master",
        "select * from ledger, lateral (select * from charges) x",
        "select * from ledger l, lateral range(3) r",
        "select * from ledger where charge_id in (select charge_id from charges)",
        "select (select max(amount) from charges) from ledger",
        "select * from ledger union all select * from charges",
        "with a as (select * from b), b as (select * from ledger) select * from a",
        "with a as (select * from a) select * from a",
        "select * from (with a as (select * from ledger) select * from a) x join a on true",
        "select * from ledger where amount > ?",
        "select * from ledger where amount > $limit_of_mine",
        "select * from ledger where amount > :x",
    ],
)
def test_undeclared_input(sql):
    """Each source is an input or a CTE that is visible where it is read; nothing else can be emptied."""
    assert codes(sql) == {"undeclared-input"}


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "-- nothing",
        "select 1; select 2",
        "select * from ledger; drop table x",
        "insert into x select * from ledger",
        "create table x as select * from ledger",
        "delete from ledger",
        "update ledger set amount = 0",
        "drop table ledger",
        "attach 'x.duckdb'",
        "copy ledger to 'x.csv'",
        "set threads = 1",
        "pragma threads = 1",
        "call pragma_version()",
        "describe ledger",
        "summarize ledger",
        "show tables",
        "values (1)",
        "pivot ledger on region using sum(amount)",
        "install httpfs",
        "begin",
        "explain select * from ledger",
        "select * into x from ledger",
        "select * from ledger for update",
        "select * from (describe ledger)",
        "with x as (insert into t values (1) returning *) select * from x",
        "export database 'x'",
        "vacuum",
        "execute p",
        "prepare p as select 1",
    ],
)
def test_not_one_statement(sql):
    """One SELECT, and nothing in it that changes or shows something. What the parser cannot read is refused as well."""
    assert codes(sql) <= {"not-one-statement", "unparsable-sql"}
    assert codes(sql)


@pytest.mark.parametrize(
    "sql",
    ["selec * from ledger", "select * from (", "select 'open", "select * from ledger where", "(" * 3000 + ")" * 3000],
)
def test_unparsable_sql(sql):
    """Text that is no SQL is one problem, bounded."""
    (problem,) = lint_sql(sql, inputs=INPUTS)

    assert problem.code == "unparsable-sql"
    assert len(problem.text) < 250


# Functions that DuckDB itself calls volatile, or that read the session or the clock. Operators and functions of their
# arguments that are merely bound to the session's time zone are left out.
def unsteady_functions():
    found = duckdb.connect().execute(
        "select distinct function_name from duckdb_functions() where stability = 'VOLATILE' or "
        "(stability = 'CONSISTENT_WITHIN_QUERY' and "
        "(len(parameters) = 0 or function_name like 'current_%' or function_name like 'get%')) order by 1"
    )
    return [name for (name,) in found.fetchall() if name.replace("_", "").isalnum()]


@pytest.mark.parametrize("name", unsteady_functions())
def test_every_function_that_duckdb_calls_volatile_is_refused(name):
    """DuckDB's own catalogue is the list; a function that a later version adds fails this test."""
    assert "nondeterministic-query" in codes(f"select {name}() as x, charge_id from ledger")


def test_all_problems_are_named_at_once():
    """Findings of every kind come in one pass, each once."""
    problems = lint_sql("select random(), random() from charges, books.x limit 1", inputs=INPUTS)

    assert [problem.code for problem in problems].count("undeclared-input") == 2
    assert {"nondeterministic-query", "undeclared-input"} == {problem.code for problem in problems}
    assert len(problems) == len(set(problems))


def test_the_inputs_are_named_in_the_refusal():
    """A name that is no input is shown with those that are."""
    (problem,) = lint_sql("select * from ledgr", inputs=INPUTS)

    assert problem.text == "'ledgr' is no input and no CTE; inputs: ledger, vendor"


def test_a_key_of_several_columns_is_needed_whole():
    """Half of a key is no total order."""
    half = "select row_number() over (order by charge_id) from ledger"
    whole = "select row_number() over (partition by account_id order by charge_id) from ledger"

    assert codes(half, keys=[("account_id", "charge_id")]) == {"nondeterministic-query"}
    assert codes(whole, keys=[("account_id", "charge_id")]) == set()


def test_without_keys_an_order_is_taken_as_total():
    """A caller that knows no keys cannot ask for one."""
    assert codes("select row_number() over (order by amount) from ledger", keys=()) == set()
    assert codes("select row_number() over () from ledger", keys=()) == {"nondeterministic-query"}


def test_vendor_text_is_bounded():
    """A finding quotes at most a short piece of the query."""
    (problem,) = lint_sql(f'select * from "{"x" * 5000}"', inputs=INPUTS)

    assert len(problem.text) < 200
