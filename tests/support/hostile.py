"""Texts that attackers write, and what a DuckDB file holds before and after they did."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from dagster_planexec.world.ports import Warehouse

CLASSICS = (
    "'; drop table books.charges; --",
    '"; drop table books.charges; --',
    "x'); delete from books.charges; --",
    'x") ; delete from books.charges; --',
    "a' or '1'='1",
    'a" or "1"="1',
    "1; insert into credits.issued select * from credits.issued",
    "x' union select * from books.charges --",
    "staging.t; attach '/tmp/x.duckdb'",
    "staging.t/**/;/**/drop/**/table/**/books.charges",
    "staging.t\n;\rdrop table books.charges",
    "staging.t\\'; drop table books.charges",
    "$$; drop table books.charges; $$",
    "staging.t as select 1; drop table books.charges; create table staging.z",
    "\uff07; drop table books.charges; --",
    "staging.\u02bct",
    "staging.t\x00; drop table books.charges",
    "{{ 7*7 }}${7*7}%s%(x)s",
    "staging.t--",
    "staging.t;",
    '"staging"."t"',
    "staging..t",
    "a.b.c",
    "staging.t" + "x" * 5_000,
)
"""What every scanner tries, and what the quoting of another system would let pass."""

hostile = st.one_of(
    st.sampled_from(CLASSICS),
    st.text(alphabet="'\"`;-\\/*()[]{}%_.,$#\x00\n\r\t ax1\u02bc\u2019\uff07\u202e", min_size=1, max_size=40),
    st.builds("{}{}{}".format, st.text(alphabet="ax_.'\"", max_size=5), st.sampled_from(CLASSICS), st.text(max_size=5)),
)
"""Texts from the alphabet of quoting, mixed with the classics."""


def contents(warehouse: Warehouse) -> dict[str, Any]:
    """Every table with its columns and a fingerprint of its rows; views, macros and attached databases by name."""
    with warehouse.session() as session:
        tables = session.rows("select schema_name, table_name from duckdb_tables() where not temporary order by 1, 2")
        more = session.rows(
            "select 'view', view_name from duckdb_views() where not internal and not temporary "
            "union all select 'function', function_name from duckdb_functions() where not internal "
            "union all select 'database', database_name from duckdb_databases() where not internal order by 1, 2"
        )
        return {
            "more": more,
            **{f"{s}.{t}": (session.describe(f"{s}.{t}"), session.fingerprint(f'select * from "{s}"."{t}"'))
               for s, t in tables},
        }  # fmt: skip
