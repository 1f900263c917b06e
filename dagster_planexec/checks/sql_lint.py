"""What a task's SQL must be before it runs: one query over named inputs that gives the same answer every time.

The text is only read, never rewritten. What cannot be judged later is refused here, so the rules err on strictness:

- one SELECT, with or without WITH; no statement that changes or shows anything;
- every source is a declared input, a CTE, a subquery, VALUES or unnest(...); no other table function, no file, no
  qualified name, no parameter;
- nothing that `checks.sql_steadiness` refuses: chance, the clock, the session, the order of rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dagster_planexec.checks.sql_steadiness import shown, unsteady

if TYPE_CHECKING:
    from sqlglot import exp

ProblemCode = Literal["nondeterministic-query", "undeclared-input", "not-one-statement", "unparsable-sql"]


@dataclass(frozen=True, slots=True)
class SqlProblem:
    """One reason why the text is refused."""

    code: ProblemCode
    text: str


def lint_sql(
    text: str,
    *,
    inputs: Collection[str],
    keys: Collection[tuple[str, ...]] = (),
    dialect: str = "duckdb",
) -> tuple[SqlProblem, ...]:
    """Every problem of a query, in the order of the rules above; empty if it may run.

    Args:
        text: The SQL.
        inputs: Names that stand for relations.
        keys: Key columns of the inputs; without them any ORDER BY of a window counts as total.
        dialect: The sqlglot name of the SQL dialect.
    """
    import sqlglot  # noqa: PLC0415 - 100 ms that only SQL pays
    from sqlglot import exp  # noqa: PLC0415 - as above
    from sqlglot.errors import ErrorLevel, SqlglotError  # noqa: PLC0415 - as above

    try:
        found = sqlglot.parse(text, read=dialect, error_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        return (SqlProblem("unparsable-sql", f"not {dialect} SQL: {' '.join(str(error).split())[:200]}"),)
    except RecursionError:
        return (SqlProblem("unparsable-sql", "the query is nested too deeply to be read"),)
    statements = [one for one in found if one is not None and not isinstance(one, exp.Semicolon)]
    if len(statements) != 1:
        return (SqlProblem("not-one-statement", f"expected one statement, saw {len(statements)}"),)
    problems = [*_not_a_query(statements[0])]
    if not problems:
        problems = [
            *_sources(statements[0], {name.lower() for name in inputs}),
            *(SqlProblem("nondeterministic-query", reason) for reason in unsteady(statements[0], keys)),
        ]
    return tuple(dict.fromkeys(problems))


def _not_a_query(root: exp.Expr) -> Iterator[SqlProblem]:
    """Anything but one SELECT; a changing or showing statement anywhere inside it."""
    from sqlglot import exp  # noqa: PLC0415 - loaded already

    query = root
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select | exp.SetOperation):
        yield SqlProblem("not-one-statement", f"expected a SELECT, saw {_word(query)}")
        return
    forbidden = (
        exp.DML, exp.DDL, exp.Command, exp.Describe, exp.Summarize, exp.Show, exp.Set, exp.Pragma, exp.Use, exp.Drop,
        exp.Into, exp.Lock, exp.Attach, exp.Detach, exp.Alter, exp.Transaction,
    )  # fmt: skip
    for node in root.find_all(*forbidden):
        if not isinstance(node, exp.Query):
            yield SqlProblem("not-one-statement", f"{_word(node)} is not part of a query")


def _sources(root: exp.Expr, inputs: set[str]) -> Iterator[SqlProblem]:
    """Every source that is neither a declared input nor made from one here."""
    from sqlglot import exp  # noqa: PLC0415 - loaded already

    for node in root.find_all(exp.From, exp.Join):
        source = node.this
        if not isinstance(source, exp.Table | exp.Subquery | exp.Unnest | exp.Lateral | exp.Values):
            yield SqlProblem("undeclared-input", f"{shown(source)} is not a source that can be emptied")
        if isinstance(source, exp.Lateral) and not isinstance(source.this, exp.Subquery | exp.Unnest):
            yield SqlProblem("undeclared-input", f"table function {shown(source.this)} reads no declared input")
    for table in root.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            yield SqlProblem("undeclared-input", f"table function {shown(table.this)} reads no declared input")
        elif table.args.get("db") or table.args.get("catalog"):
            yield SqlProblem("undeclared-input", f"{shown(table)} is qualified; inputs are read by their names")
        elif table.name.lower() not in inputs and not _is_cte(table):
            names = ", ".join(sorted(inputs)) or "none"
            yield SqlProblem("undeclared-input", f"{shown(table)} is no input and no CTE; inputs: {names}")
    for node in root.find_all(exp.Placeholder, exp.Parameter, exp.SessionParameter):
        yield SqlProblem("undeclared-input", f"parameter {shown(node)} has no value")


def _is_cte(table: exp.Table) -> bool:
    """Whether the name is a CTE that is visible where it stands.

    Visible are the CTEs of every enclosing query; inside a WITH the ones before, and the CTE itself if it is RECURSIVE.
    """
    from sqlglot import exp  # noqa: PLC0415 - loaded already

    name = table.name.lower()
    child: exp.Expr = table
    parent = table.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            before = parent.expressions[: _index(parent.expressions, child)]
            itself = [child] if parent.args.get("recursive") else []
            if any(cte.alias.lower() == name for cte in [*before, *itself]):
                return True
            # The query that this WITH belongs to was looked at just now; go on outside of it.
            child, parent = parent, parent.parent
            if parent is None:
                return False
        else:
            with_ = parent.args.get("with_")
            if with_ is not None and any(cte.alias.lower() == name for cte in with_.expressions):
                return True
        child, parent = parent, parent.parent
    return False


def _index(nodes: list[exp.Expr], node: exp.Expr) -> int:
    return next(n for n, one in enumerate(nodes) if one is node)


def _word(node: exp.Expr) -> str:
    return str(node.this).upper()[:40] if type(node).__name__ == "Command" else type(node).__name__.upper()
