"""A specification with its gaps filled from the file contracts of both sides: what SQL is made of."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

from dagster_planexec.contract.file.column import Column
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.reconcile import spec as words
from dagster_planexec.contract.reconcile.spec import BySide, ReconcileSpec
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.period import Period
from dagster_planexec.world.sides.comparison.shape import (
    EXACT,
    Attribute,
    ComparedSide,
    Comparison,
    Number,
    Tolerance,
    result_columns,
)

_TWO = 2
_INTEGER_DIGITS = 19


@dataclass(frozen=True, slots=True)
class DeclaredSide:
    """A side's name and the contract that says what its columns are."""

    name: str
    contract: FileContract


def comparison_of(spec: ReconcileSpec, sides: Sequence[DeclaredSide], period: Period | None = None) -> Comparison:
    """The comparison of these two sides, in scope of a period (None: of none, to see whether it can be followed).

    Raises:
        PlanexecError: BAD_CONTRACT if there are not two sides, a column is not there or is of a kind that cannot be
            compared so, or a value could be rounded.
    """
    if len(sides) != _TWO:
        _bad(f"it compares two sides, and the task has {len(sides)}")
    one, other = sides
    keys = _keys(spec, (one, other))
    result = Comparison(
        _side(spec, one, tuple(pair[0] for pair in keys), 0, sides, period),
        _side(spec, other, tuple(pair[1] for pair in keys), 1, sides, period),
        tuple(pair[0] for pair in keys),
        _amount(spec, (one, other)),
        spec.match,
        None if spec.many is None else _index(spec.many, sides),
        tuple(word for word in spec.key_normalise if word != "trim"),
        tuple((name, number) for name, number in _compared(spec, (one, other)) if isinstance(number, Number)),
        tuple((name, column) for name, column in _compared(spec, (one, other)) if isinstance(column, Attribute)),
    )
    for number in (result.amount, *(number for _, number in result.numbers)):
        number.require_room(result.match)
    columns = result_columns(result)
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        _bad(f"two columns of its result would be called {twice!r}")
    return result


def _keys(spec: ReconcileSpec, sides: tuple[DeclaredSide, DeclaredSide]) -> list[tuple[str, str]]:
    if spec.key is None:
        mine, theirs = (side.contract.key for side in sides)
        if len(mine) != len(theirs):
            _bad(f"the contracts' keys have {len(mine)} and {len(theirs)} columns; name the pairs in `key`")
        pairs = list(zip(mine, theirs, strict=True))
    else:
        pairs = [_pair(part, sides, "key") for part in spec.key]
    for pair in pairs:
        kinds = [_column(side, name, "key") for side, name in zip(sides, pair, strict=True)]
        decimals = [column.scale for column in kinds if column.type == "decimal"]
        if decimals and (len(decimals) != _TWO or decimals[0] != decimals[1]):
            _bad(f"key {pair[0]!r} is a decimal of another scale on one side, so its texts would never meet")
    return pairs


def _amount(spec: ReconcileSpec, sides: tuple[DeclaredSide, DeclaredSide]) -> Number:
    one, other = sides
    pair = (one.contract.amount, other.contract.amount) if spec.amount is None else _pair(spec.amount, sides, "amount")
    kinds = [_column(side, name, "amount") for side, name in zip(sides, pair, strict=True)]
    wrong = next((column.name for column in kinds if column.type != "decimal"), None)
    if wrong is not None:
        _bad(f"amount {wrong!r} is not a decimal")
    for side, column in zip(sides, kinds, strict=True):
        if side.name == spec.many and column.nullable:
            _bad(f"amount {column.name!r} of side {side.name} may be empty; a sum of its rows would leave that out")
    return _number(pair, kinds, spec.tolerance)


def _compared(spec: ReconcileSpec, sides: tuple[DeclaredSide, DeclaredSide]) -> list[tuple[str, Number | Attribute]]:
    out: list[tuple[str, Number | Attribute]] = []
    for compared in spec.compare:
        pair = _pair(compared.column, sides, "compare")
        kinds = [_column(side, name, "compare") for side, name in zip(sides, pair, strict=True)]
        numbers = [column.type in {"decimal", "integer"} for column in kinds]
        if all(numbers):
            out.append((pair[0], _number(pair, kinds, compared.tolerance)))
            continue
        if any(numbers) or kinds[0].type != kinds[1].type:
            _bad(f"compare: {pair[0]!r} is {kinds[0].type} and {pair[1]!r} is {kinds[1].type}")
        if compared.tolerance is not None:
            _bad(f"compare: {pair[0]!r} is {kinds[0].type}, which has no tolerance")
        if spec.match == "one-to-many":
            _bad(
                f"compare: {pair[0]!r} is {kinds[0].type}; rows that are added up against one can agree in numbers only"
            )
        out.append((pair[0], Attribute(pair)))
    return out


def _number(pair: tuple[str, str], kinds: Sequence[Column], tolerance: words.Tolerance | None) -> Number:
    digits = [(c.precision, c.scale) if c.type == "decimal" else (_INTEGER_DIGITS, 0) for c in kinds]
    (p0, s0), (p1, s1) = digits
    return Number(pair, (p0, p1), (s0, s1), _tolerance(tolerance, min(s0, s1)))


def _tolerance(given: words.Tolerance | None, scale: int) -> Tolerance:
    if given is None:
        return EXACT
    if given.absolute is not None:
        return Tolerance("absolute", given.absolute)
    if given.relative is not None:
        return Tolerance("relative", given.relative)
    units = Decimal(given.last_digit or 0).scaleb(-scale)
    return Tolerance("absolute", f"{units:f}")


def _side(
    spec: ReconcileSpec,
    side: DeclaredSide,
    key: tuple[str, ...],
    at: int,
    sides: Sequence[DeclaredSide],
    period: Period | None,
) -> ComparedSide:
    contract = side.contract
    pair = (sides[0], sides[1])
    date = contract.date if spec.period is None else _pair(spec.period, pair, "period")[at]
    if date is not None and _column(side, date, "period").type != "date":
        _bad(f"period {date!r} is not a date")
    start = end = None
    if period is not None and date is not None:
        window = contract.window
        start = period.start - dt.timedelta(days=window.days_before if window else 0)
        end = period.end + dt.timedelta(days=window.days_after if window else 0)
    constant, column = _currency(spec, side, sides)
    return ComparedSide(side.name, key, constant, column, date, start, end)


def _currency(spec: ReconcileSpec, side: DeclaredSide, sides: Sequence[DeclaredSide]) -> tuple[str | None, str | None]:
    """A code or a column."""
    given: object = spec.currency
    if isinstance(given, Mapping):
        _require_names(given, sides, "currency")
        given = given[side.name]
    if given is None:
        column = side.contract.currency_column
        return (side.contract.currency, None) if column is None else (None, column)
    name = str(given)
    if name.isupper():
        declared = {side.contract.currency} if side.contract.currency is not None else set(side.contract.currencies)
        if declared != {name}:
            said = ", ".join(sorted(str(code) for code in declared))
            _bad(f"currency says {name}, and contract {side.contract.name!r} of side {side.name} says {said}")
        return name, None
    if _column(side, name, "currency").type != "text":
        _bad(f"currency {name!r} is not text")
    return None, name


def _pair(given: BySide, sides: tuple[DeclaredSide, DeclaredSide], where: str) -> tuple[str, str]:
    if isinstance(given, str):
        return given, given
    _require_names(given, sides, where)
    return given[sides[0].name], given[sides[1].name]


def _require_names(given: Mapping[str, object], sides: Sequence[DeclaredSide], where: str) -> None:
    names = [side.name for side in sides]
    if set(given) != set(names):
        _bad(f"{where} is given for {', '.join(sorted(given))}; the sides are {', '.join(names)}")


def _index(name: str, sides: Sequence[DeclaredSide]) -> int:
    names = [side.name for side in sides]
    if name not in names:
        _bad(f"many names {name!r}; the sides are {', '.join(names)}")
    return names.index(name)


def _column(side: DeclaredSide, name: str, where: str) -> Column:
    found = next((column for column in side.contract.columns if column.name == name), None)
    if found is None:
        _bad(f"{where} names {name!r}, which is no column of contract {side.contract.name!r} of side {side.name}")
    return found


def _bad(what: str) -> NoReturn:
    raise PlanexecError(
        "BAD_CONTRACT", f"reconciliation: {what}", hint="correct the specification; docs/reconcile.md lists its words"
    )
