"""Whether a query gives the same answer on the same rows, as far as its text can tell.

Refused: what depends on chance, the clock or the session (random, uuid, now, nextval, rowid, samples); what cuts or
picks rows (LIMIT, OFFSET, FETCH, DISTINCT ON, first, last, any_value, mode, arg_min, arg_max); joins by position;
PIVOT, whose columns depend on the data. List and string aggregates carry an ORDER BY. A window carries one if its
answer depends on order; and if it picks between rows (row_number, lag, ROWS frames, ...), PARTITION BY and ORDER BY
together name all columns of a declared key: that is what counts as a total order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


def unsteady(root: exp.Expr, keys: Collection[tuple[str, ...]]) -> Iterator[str]:
    """One sentence for each thing whose answer may differ on the same rows."""
    from sqlglot import exp  # noqa: PLC0415 - loaded already

    known = [frozenset(column.lower() for column in key) for key in keys]

    for node in root.walk():
        reason = _reason(node)
        if reason:
            yield f"{shown(node)} {reason}"
        elif isinstance(node, exp.Window) and node.parent and node.arg_key != "windows":
            reason = _window_reason(node, known)
            if reason:
                yield f"{shown(node)} {reason}"


def _reason(node: exp.Expr) -> str:
    """Why one node is refused, or ''."""
    from sqlglot import exp  # noqa: PLC0415 - loaded already

    names = _names(node)
    if isinstance(node, exp.Limit | exp.Offset | exp.Fetch):
        return "cuts rows off, and which ones is not declared"
    if isinstance(node, exp.Distinct) and node.args.get("on"):
        return "keeps one row of several, and which one is not declared"
    if isinstance(node, exp.TableSample):
        return "takes rows by chance"
    if isinstance(node, exp.Pivot):
        return "has columns that depend on the data; write aggregates with FILTER"
    if isinstance(node, exp.Join) and str(node.args.get("method") or "").upper() in {"POSITIONAL", "ASOF"}:
        return "joins by the order of rows"
    if isinstance(node, exp.Column) and _is_no_data(node):
        return "is not part of the data"
    if names & _CHANCE:
        return "depends on chance, the clock or the session"
    if names & _AGE and len(_arguments(node)) == 1:
        return "with one argument depends on the clock"
    if names & _ARBITRARY:
        return "picks one of several rows, and which one is not declared"
    if names & _ORDERED_AGGREGATES and not isinstance(node.parent, exp.Window) and not _is_ordered(node):
        return "needs an ORDER BY inside its brackets"
    return ""


def _window_reason(window: exp.Window, keys: list[frozenset[str]]) -> str:
    from sqlglot import exp  # noqa: PLC0415 - loaded already

    named = _named_window(window)
    order = window.args.get("order") or (named.args.get("order") if named else None)
    partition = window.args.get("partition_by") or (named.args.get("partition_by") if named else None) or []
    frame = window.args.get("spec") or (named.args.get("spec") if named else None)
    names: set[str] = set()
    for node in window.this.find_all(exp.Func):
        names |= _names(node)
    by_rows = frame is not None and str(frame.args.get("kind") or "").upper() in {"ROWS", "GROUPS"}
    picks = bool(names & _PICKING_WINDOWS) or by_rows or bool(names & _ORDERED_AGGREGATES)
    if order is None:
        return "needs an ORDER BY" if picks or names & _RANKING_WINDOWS else ""
    if not picks or not keys:
        return ""
    columns = {column.name.lower() for part in [*partition, order] for column in part.find_all(exp.Column)}
    if any(key <= columns for key in keys):
        return ""
    wanted = " or ".join(sorted(", ".join(sorted(key)) for key in keys))
    return f"picks between rows that its order does not tell apart; order it by the key as well ({wanted})"


def _named_window(window: exp.Window) -> exp.Expr | None:
    """The definition in the WINDOW clause that `over name` refers to."""
    from sqlglot import exp  # noqa: PLC0415 - loaded already

    alias = window.args.get("alias")
    select = window.find_ancestor(exp.Select)
    if alias is None or select is None:
        return None
    return next((one for one in select.args.get("windows") or [] if one.name.lower() == alias.name.lower()), None)


def _names(node: exp.Expr) -> set[str]:
    """What a function is called: as written if sqlglot does not know it, else all its SQL names."""
    from sqlglot import exp  # noqa: PLC0415 - loaded already

    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc | exp.CombinedAggFunc):
        written = node.this if isinstance(node.this, str) else node.this.name  # a quoted name is the same function
        return {str(written).strip('"').lower()}
    if isinstance(node, exp.Func):
        return {name.lower() for name in node.sql_names()}
    return set()


def _is_no_data(column: exp.Column) -> bool:
    """Row numbers of the storage, and bare words that SQL reads as functions of the session."""
    bare = not column.table and not column.this.args.get("quoted")
    return column.name.lower() == "rowid" or (bare and column.name.lower() in _SESSION_WORDS)


def _is_ordered(aggregate: exp.Expr) -> bool:
    """Whether there is an ORDER BY in the brackets, and not only in a subquery inside them."""
    from sqlglot import exp  # noqa: PLC0415 - loaded already

    orders = aggregate.find_all(exp.Order)
    return any(order.find_ancestor(exp.Query, type(aggregate)) is aggregate for order in orders)


def _arguments(node: exp.Expr) -> list[object]:
    return [*([node.this] if not isinstance(node.this, str) else []), *node.expressions]


def shown(node: exp.Expr) -> str:
    """A piece of the query, quoted and bounded."""
    return repr(" ".join(str(node.sql(dialect="duckdb")).split())[:80])


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SESSION_WORDS = frozenset({"user", "current_user", "session_user", "current_catalog", "current_schema"})

_CHANCE = _words(
    """
    rand random randn setseed uuid gen_random_uuid uuidv4 uuidv7 generate_uuid
    now today get_current_time get_current_timestamp transaction_timestamp localtime localtimestamp
    current_date current_time current_timestamp current_timestamp_l_t_z current_datetime current_localtime
    current_localtimestamp statement_timestamp clock_timestamp systimestamp
    utc_date utc_time utc_timestamp unix_timestamp
    nextval currval setval next_value_for
    current_user session_user current_role current_catalog current_database current_schema current_schemas
    current_setting current_connection_id current_query current_query_id current_transaction_id txid_current
    getvariable getenv in_search_path pg_backend_pid version
    ago pg_postmaster_start_time pg_conf_load_time pg_get_viewdef pg_get_constraintdef format_type get_block_size
    sleep_ms write_log error stats vector_type
    approx_quantile approx_top_k approx_count_distinct approx_distinct reservoir_quantile
    """
)
_AGE = frozenset({"age"})
_ARBITRARY = _words(
    """
    first last any_value arbitrary mode
    arg_min arg_max argmin argmax min_by max_by arg_min_null arg_max_null arg_min_nulls_last arg_max_nulls_last
    """
)
_ORDERED_AGGREGATES = _words(
    "array_agg list listagg string_agg group_concat array_concat_agg json_group_array json_group_object map_agg"
)
_RANKING_WINDOWS = _words("rank dense_rank rank_dense percent_rank cume_dist")
_PICKING_WINDOWS = _words("row_number ntile lag lead first_value last_value nth_value fill")
