"""The exact credit lines of a result, and what the credit system holds: two readings that must agree to the cent.

The check aggregates in SQL; the tool fetches rows and applies the rule in Python. They share the shape, not the
reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from dagster_planexec.errors import PortError
from dagster_planexec.world import subject
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import CreditLine, Ports, Session, SqlValue
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.result import CreditShape
from dagster_planexec.world.subject import Subject

_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))
"""What a line key escapes, the escape itself first, so that `key<TAB>amount` lines stay unambiguous."""
_BLANKS = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""What `trim` takes off in SQL: the space separators of Unicode and nothing else."""
_EXACT = ("DECIMAL", "NUMERIC", "INTEGER", "BIGINT", "HUGEINT", "SMALLINT", "TINYINT")


@dataclass(frozen=True, slots=True)
class CreditLines(Probe):
    """How many lines of a result are to be credited, for how much, and which: counted and hashed by SQL."""

    table: str
    shape: CreditShape

    @property
    def subject(self) -> Subject:
        """The result table."""
        return subject.table(self.table)

    @property
    def reader(self) -> str:
        """The aggregate over the credited lines."""
        return "SQL aggregate of credit lines"

    def observe(self, ports: Ports) -> Observation:
        """Facts `count`, `amount`, `digest`, and how many lines cannot be credited as they are.

        Those are `keyless`, `repeated`, `unpriced` (a line to credit without an amount) and `inexact` (more decimals
        than the currency has).
        """
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            if not holds_money(session, self.table, self.shape.money):
                return self.absent(ports, f"no table {self.table!r}")
            return self.seen(ports, count_lines(session, self.table, self.shape))


@dataclass(frozen=True, slots=True)
class CreditsIssued(Probe):
    """What the credit system holds for one scope and period, whoever issued it."""

    scope: str
    period: str
    scale: int = 2

    @property
    def subject(self) -> Subject:
        """The credits of that scope and period."""
        return subject.credits_of(self.scope, self.period)

    @property
    def reader(self) -> str:
        """The credit system's own list."""
        return "credits issued"

    def observe(self, ports: Ports) -> Observation:
        """Facts `count`, `amount` and `digest`, comparable with those of `CreditLines`."""
        issued = ports.credits.issued(self.scope, self.period)
        amount = sum(issued.values(), Decimal(0))
        digest = digest_of_lines(issued.items(), self.scale)
        return self.seen(ports, {"count": len(issued), "amount": money(amount, self.scale), "digest": digest})


def count_lines(session: Session, table: str, shape: CreditShape) -> dict[str, Fact]:
    """The facts of `CreditLines`, of a table that `holds_money`."""
    credited, values = _credited_sql(session, table, shape)
    row = session.rows(
        f"""with credited as ({credited})
        select count(*) filter (where raw > 0),
            coalesce(sum(amount) filter (where raw > 0), 0),
            coalesce(
                sha256(string_agg(line_key || chr(9) || cast(amount as varchar), chr(10)
                    order by line_key, amount) filter (where raw > 0)),
                sha256('')),
            count(*) filter (where raw > 0 and line_key is null),
            count(line_key) filter (where raw > 0) - count(distinct line_key) filter (where raw > 0),
            count(*) filter (where raw is null),
            count(*) filter (where raw > 0 and raw <> amount)
        from credited""",
        values,
    )[0]
    names = ("count", "amount", "digest", "keyless", "repeated", "unpriced", "inexact")
    facts: dict[str, Any] = dict(zip(names, row, strict=True))
    return {**facts, "amount": money(facts["amount"], shape.scale)}


def sum_lines(session: Session, table: str, shape: CreditShape) -> dict[str, Decimal]:
    """What is due under each line key, of a table that `holds_money`; lines that cannot be credited are left out."""
    credited, values = _credited_sql(session, table, shape)
    rows = session.rows(
        f"""with credited as ({credited})
        select line_key, cast(sum(amount) as varchar) from credited
        where raw > 0 and line_key is not null group by line_key""",
        values,
    )
    return {str(key): Decimal(str(amount)) for key, amount in rows}


def fetch_credit_lines(session: Session, table: str, shape: CreditShape) -> list[CreditLine]:
    """The credit lines of a result, row by row, by the same rule in Python; sorted by key.

    Raises:
        PortError: TABLE_GONE, SCHEMA_DRIFT; NULL_KEY, DUPLICATE_KEY, IDENTITY_BROKEN (no amount) or SCALE_OVERFLOW
            for a line that cannot be credited as it is, with the line named.
    """
    if not holds_money(session, table, shape.money):
        raise PortError("TABLE_GONE", f"there is no table {table}")
    columns = [*shape.key, shape.status, shape.charged, shape.billed]
    listed = ", ".join(f"cast({session.quote(column)} as varchar)" for column in columns)
    rows = session.rows(
        f"select {listed} from {session.quote(table)} where {session.quote(shape.status)} in (?, ?)",
        (shape.differs, shape.only_charged),
    )
    lines: dict[str, Decimal] = {}
    for *parts, status, charged, billed in rows:
        shown = " | ".join(repr(part)[:80] for part in parts)
        due = _decimal(billed, shown) if status == shape.differs else None
        amount = credit_of(shape, status, _decimal(charged, shown), due)
        if not amount:
            continue
        if amount != round(amount, shape.scale):
            raise PortError("SCALE_OVERFLOW", f"line {shown} would credit {amount}, more than {shape.scale} decimals")
        key = _key(parts)
        if key is None:
            raise PortError("NULL_KEY", f"line {shown} would credit {amount} and has no key")
        if key in lines:
            raise PortError(
                "DUPLICATE_KEY", f"line key {key[:80]!r} would be credited twice: {lines[key]} and {amount}"
            )
        lines[key] = round(amount, shape.scale)
    return [CreditLine(key, amount) for key, amount in sorted(lines.items())]


def holds_money(session: Session, table: str, columns: Iterable[str]) -> bool:
    """Whether the table is there, with these columns, all of them exact.

    Raises:
        PortError: SCHEMA_DRIFT if a column is missing or is a float, because a column of floats holds no money.
    """
    found = session.describe(table)
    if found is None:
        return False
    types = {column.name.lower(): column.type for column in found}
    for column in columns:
        seen = types.get(column.lower(), "missing")
        if not seen.upper().startswith(_EXACT):
            raise PortError(
                "SCHEMA_DRIFT",
                f"column {column!r} of {table} is {seen[:40]}; expected DECIMAL, which money is",
                hint="cast the column to DECIMAL where it is made",
            )
    return True


def credit_of(shape: CreditShape, status: SqlValue, charged: Decimal | None, billed: Decimal | None) -> Decimal:
    """What the rule credits for one line: 0 for every line that is not to be credited."""
    amount = Decimal(0)
    if status == shape.differs and charged is not None and billed is not None:
        amount = charged - billed
    elif status == shape.only_charged and charged is not None:
        amount = charged
    return max(amount, Decimal(0))


def digest_of_lines(lines: Iterable[tuple[str, Decimal]], scale: int) -> str:
    """SHA-256 of the sorted `key<TAB>amount` lines: the evidence of a set of credits."""
    text = "\n".join(sorted(f"{key}\t{amount:.{scale}f}" for key, amount in lines))
    return hashlib.sha256(text.encode()).hexdigest()


def _credited_sql(session: Session, table: str, shape: CreditShape) -> tuple[str, tuple[SqlValue, ...]]:
    """A query for (line_key, raw, amount) of every line the rule looks at, and the values to bind."""
    status, charged, billed = (session.quote(c) for c in (shape.status, shape.charged, shape.billed))
    texts = [f"trim(cast({session.quote(column)} as varchar))" for column in shape.key]
    escapes = _ESCAPES if len(texts) == 1 else (*_ESCAPES, ("|", "\\|"))
    parts = []
    for text in texts:
        part = text
        for raw, escaped in escapes:
            part = f"replace({part}, {_literal(raw)}, {_literal(escaped)})"
        parts.append(part)
    key = " || '|' || ".join(parts)
    blank = " and ".join(f"{text} = ''" for text in texts)
    raw = f"case when {status} = ? then {charged} - {billed} else {charged} end"
    query = f"""select case when {blank} then null else {key} end as line_key, {raw} as raw,
        cast({raw} as decimal(38, {shape.scale:d})) as amount
        from {session.quote(table)} where {status} in (?, ?)"""
    return query, (shape.differs, shape.differs, shape.differs, shape.only_charged)


def _literal(text: str) -> str:
    # chr() instead of a quoted string: how a backslash is read inside quotes differs from warehouse to warehouse.
    return " || ".join(f"chr({ord(character)})" for character in text)


def _key(parts: list[SqlValue]) -> str | None:
    if any(part is None for part in parts):
        return None
    texts = [str(part).strip(_BLANKS) for part in parts]
    if not any(texts):
        return None
    for raw, escaped in _ESCAPES if len(texts) == 1 else (*_ESCAPES, ("|", "\\|")):
        texts = [text.replace(raw, escaped) for text in texts]
    return "|".join(texts)


def _decimal(text: SqlValue, line: str) -> Decimal:
    if text is None:
        raise PortError("IDENTITY_BROKEN", f"line {line} is to be credited and has no amount")
    try:
        return Decimal(str(text))
    except InvalidOperation as error:
        raise PortError("BAD_AMOUNT", f"line {line} has amount {str(text)[:40]!r}, which is not a number") from error


def money(value: SqlValue, scale: int) -> Decimal:
    """A sum of money with the decimals of its currency."""
    return round(Decimal(str(value)), scale)
