"""File contracts: what a delivered file (or an input table) is declared to be. YAML beside the task, never sniffed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.ingest import MOST_DECODED, Compression, TextColumn, TextFormat, TextType, sql_type

SUFFIXES: dict[str, Compression] = {".csv": "none", ".csv.gz": "gzip"}
"""File suffix to compression. A suffix that is not here is refused: no independent counter is known for it."""


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Column(_Closed):
    """One column: its name in the table, its headers in files, its type."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")
    headers: tuple[str, ...] = ()
    """Headers under which files carry it, compared after trimming; empty: the name itself."""
    type: TextType
    required: bool = True
    """Whether a file must have the column at all."""
    nullable: bool = False
    """Whether a cell may be empty."""
    formats: tuple[str, ...] = ()
    """For dates, strptime formats in order. A date column must declare at least one."""
    precision: int = Field(default=18, ge=1, le=38)
    scale: int = Field(default=2, ge=0, le=18)
    thousands: Literal["", ",", ".", " ", "'"] = ""
    decimal_mark: Literal[".", ","] = "."

    @model_validator(mode="after")
    def _declares_what_its_type_needs(self) -> Column:
        if self.type == "date" and not self.formats:
            msg = f"date column {self.name!r} declares no formats; a date order is never guessed"
            raise ValueError(msg)
        if self.scale > self.precision:
            msg = f"column {self.name!r}: scale {self.scale} exceeds precision {self.precision}"
            raise ValueError(msg)
        if self.thousands == self.decimal_mark:
            msg = f"column {self.name!r}: thousands and decimal mark are both {self.thousands!r}"
            raise ValueError(msg)
        return self

    @property
    def sql_type(self) -> str:
        """The type of the table's column, as a catalogue writes it."""
        return sql_type(self.type, self.precision, self.scale)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every header under which a file may carry it."""
        return self.headers or (self.name,)


class FileContract(_Closed):
    """What is declared about a delivery, and about the table it becomes."""

    name: str
    version: str
    encoding: str = "utf-8"
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    quote: str = Field(default='"', min_length=1, max_length=1)
    columns: tuple[Column, ...] = Field(min_length=1)
    key: tuple[str, ...] = Field(min_length=1)
    """Columns that together identify a row; compared as trimmed text."""
    amount: str
    """The column that holds money."""
    date: str | None
    """The column that says which period a row belongs to; null if there is none."""
    currency: str
    """ISO 4217 code of every amount."""
    min_rows: int = Field(default=1, ge=0)
    unique_key: bool = True
    every_month: bool = True
    """Whether each month of the period must have rows."""
    max_bytes: int = Field(default=MOST_DECODED, ge=1)
    """Bytes of one file at most, decoded; a longer one is TOO_LARGE, whatever its size in the drop."""

    @model_validator(mode="after")
    def _names_its_own_columns(self) -> FileContract:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            msg = "two columns have one name"
            raise ValueError(msg)
        headers = [header.strip() for column in self.columns for header in column.aliases]
        if len(set(headers)) != len(headers):
            msg = "one header belongs to two columns"
            raise ValueError(msg)
        for role, name in [*(("key", k) for k in self.key), ("amount", self.amount), ("date", self.date)]:
            if name is not None and name not in names:
                msg = f"{role} names {name!r}, which is not a column"
                raise ValueError(msg)
        if self.column(self.amount).type != "decimal":
            msg = f"amount column {self.amount!r} is not a decimal"
            raise ValueError(msg)
        if self.date is not None and self.column(self.date).type != "date":
            msg = f"date column {self.date!r} is not a date"
            raise ValueError(msg)
        return self

    def column(self, name: str) -> Column:
        """The column of that name; StopIteration never leaves the validators above."""
        return next(column for column in self.columns if column.name == name)

    def format_of(self, key: str) -> TextFormat:
        """How to read an object of that key.

        Raises:
            PlanexecError: BAD_CONTRACT if its suffix is not one that can be counted independently.
        """
        for suffix in sorted(SUFFIXES, key=len, reverse=True):
            if key.endswith(suffix):
                return TextFormat(self.encoding, self.delimiter, self.quote, SUFFIXES[suffix], self.max_bytes)
        raise PlanexecError(
            "BAD_CONTRACT",
            f"file {key[-80:]!r} has none of the suffixes {', '.join(SUFFIXES)}",
            hint="compression and format are declared by the suffix, never sniffed",
        )

    def columns_for(self, header: tuple[str, ...]) -> tuple[TextColumn, ...]:
        """The table's columns, each with the header that this file carries it under (None if it does not)."""
        present = {h.strip(): h for h in header}
        out = []
        for column in self.columns:
            found = next((present[a.strip()] for a in column.aliases if a.strip() in present), None)
            out.append(
                TextColumn(
                    column.name,
                    found,
                    column.type,
                    column.nullable,
                    column.formats,
                    column.precision,
                    column.scale,
                    column.thousands,
                    column.decimal_mark,
                    column.aliases,
                )
            )
        return tuple(out)


def load_contract(path: Path) -> FileContract:
    """Read a contract from YAML.

    Raises:
        PlanexecError: BAD_CONTRACT with every field that is wrong.
    """
    import yaml  # noqa: PLC0415 - only tasks that read contracts pay for it

    hint = f"correct {path.name}; docs/contracts.md lists the vocabulary"
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        return FileContract.model_validate(data)
    except ValidationError as error:
        where = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'contract'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)[:10]
        )
        raise PlanexecError("BAD_CONTRACT", f"{path.name}: {where}", hint=hint) from error
    except RecursionError as error:
        raise PlanexecError("BAD_CONTRACT", f"{path.name}: nested too deeply to be read", hint=hint) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PlanexecError("BAD_CONTRACT", f"{path.name}: {str(error)[:300]}", hint=hint) from error
