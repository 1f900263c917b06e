"""What is judged of a record as a whole: does it have a key, and which sign does its amount have?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dagster_planexec.resources.loading.cells import Cell, refusal
from dagster_planexec.resources.loading.styles.sql import BLANKS, one_of
from dagster_planexec.world.ingest import SignRule, TextIngest


def judged(cells: Sequence[Cell], request: TextIngest) -> tuple[Cell, ...]:
    """The same cells, signed as the request says, and refused as NULL_KEY where a record has no key.

    A record without a key has no other fault: whatever else is wrong with it, it is no record of the data.
    """
    of = {one.column.name: one for one in cells}
    if request.sign is not None and request.amount is not None:
        of |= _signed(of[request.amount], of[request.sign.column], request.sign)
    if request.key:
        nowhere = {name: _no_key(of[name]) for name in request.key}
        keyless = f"({' or '.join(nowhere.values())})"
        for name, one in of.items():
            if name in nowhere:
                of[name] = _key(one, nowhere[name], keyless)
            elif one.reason is not None:
                of[name] = replace(one, reason=f"case when {keyless} then null else {one.reason} end")
    return tuple(of[one.column.name] for one in cells)


def _signed(amount: Cell, kind: Cell, rule: SignRule) -> dict[str, Cell]:
    """The amount by the kind of its document, and the kind as one of those there are."""
    known = one_of((*rule.positive, *rule.negative))
    value = (
        f"case when {kind.value} in {one_of(rule.negative)} then -abs({amount.value}) "
        f"when {kind.value} in {one_of(rule.positive)} and {amount.value} >= 0 then {amount.value} end"
    )
    below = f"case when {kind.value} in {one_of(rule.positive)} and {amount.value} < 0 then 'BAD_AMOUNT' end"
    reason = below if amount.reason is None else f"coalesce({amount.reason}, {below})"
    refused = refusal(amount.column)
    if amount.column.nullable:
        refused = f"case when {amount.value} is not null or not ({amount.empty}) then {refused} end"
    unknown = f"({kind.value} is null or {kind.value} not in {known})"
    why = f"case when {unknown} then 'UNKNOWN_VALUE' end"
    return {
        amount.column.name: replace(amount, value=value, reason=reason, must=f"coalesce({value}, {refused})"),
        kind.column.name: replace(
            kind,
            reason=why if kind.reason is None else f"coalesce({kind.reason}, {why})",
            must=f"case when {unknown} then {refusal(kind.column)} else {kind.must} end",
        ),
    }


def _no_key(key: Cell) -> str:
    """The condition that a part of the key is null or blank."""
    if key.column.type != "text":
        return key.empty
    return f"coalesce(trim({key.value}, '{BLANKS}') = '', true)"


def _key(key: Cell, nowhere: str, keyless: str) -> Cell:
    own = "null" if key.reason is None else key.reason
    if key.column.type == "text":
        # Most keys are known by their first character not to be blank, and only a `case` leaves out the rest.
        refused = refusal(key.column)
        must = f"case when {key.value} >= '!' then {key.must} when {nowhere} then {refused} else {key.must} end"
    elif key.column.nullable:
        must = f"case when {nowhere} then {refusal(key.column)} else {key.must} end"
    else:
        must = key.must
    return replace(
        key, reason=f"case when {nowhere} then 'NULL_KEY' when {keyless} then null else {own} end", must=must
    )
