"""What datacompy answers to small inputs with known truth; run by an interpreter that has it, prints JSON.

`docs/datacompy.md` shows the answers beside ours, `tests/bench/test_datacompy.py` holds both.
"""

from __future__ import annotations

import importlib
import json
import sys
from decimal import Decimal
from typing import Any

Rows = list[tuple[Any, Any]]

INPUTS: dict[str, tuple[Rows, Rows, dict[str, Any]]] = {
    "duplicates re-ordered": ([("A", "10.00"), ("A", "20.00")], [("A", "20.00"), ("A", "10.00")], {}),
    "a key twice on each side": (
        [("F1", "10.00"), ("F1", "15.00"), ("F2", "20.00")], [("F1", "10.00"), ("F1", "15.00"), ("F2", "20.00")], {},
    ),
    "billed three times": ([("A", "10.00")], [("A", "10.00")] * 3, {}),
    "an empty vendor": ([("A", "10.00"), ("B", "20.00")], [], {}),
    "keys that are missing": ([("H1", "10.00"), (None, "90.00")], [("H1", "10.00"), (None, "90.00")], {}),
    "keys beyond a float": ([(2**53, "1.00")], [(2**53 + 1, "1.00")], {}),
    "whole numbers beyond a float": ([("A", 2**53)], [("A", 2**53 + 1)], {}),
    "amounts beyond a float": ([("A", "9007199254740993.01")], [("A", "9007199254740993.02")], {}),
    "a cent within a cent": ([("A", "0.29")], [("A", "0.30")], {"abs_tol": 0.01}),
    "007 and 7": ([("007", "5.00")], [(7, "5.00")], {}),
    "blanks at the end": ([("A1 ", "5.00")], [("A1", "5.00")], {}),
}  # fmt: skip
"""Ledger, vendor, options. Amounts as text are made exact decimals."""


def answer(engine: str, name: str) -> dict[str, Any]:
    """Counts, or the error."""
    import datacompy  # noqa: PLC0415 - only the peer's environment has it

    frames = importlib.import_module(engine)
    compare = {"pandas": datacompy.PandasCompare, "polars": datacompy.PolarsCompare}[engine]
    ledger, vendor, options = INPUTS[name]

    def frame(rows: Rows, like: Rows) -> Any:  # noqa: ANN401 - a frame of either engine
        amounts = [Decimal(amount) if isinstance(amount, str) else amount for _, amount in rows]
        data = {"id": [key for key, _ in rows], "amount": amounts}
        if engine == "polars":
            exact = frames.Decimal(18, 2) if any(isinstance(a, str) for _, a in like) else frames.Int64
            key = frames.Int64 if rows and isinstance(rows[0][0], int) else frames.String
            return frames.DataFrame(data, schema={"id": key, "amount": exact})
        return frames.DataFrame(data)

    try:
        found = compare(frame(ledger, ledger), frame(vendor, ledger), join_columns="id", **options)
        return {
            "identical": int(found.count_matching_rows()),
            "differs": len(found.intersect_rows) - int(found.count_matching_rows()),
            "ledger_only": len(found.df1_unq_rows),
            "vendor_only": len(found.df2_unq_rows),
            "matches": bool(found.matches()),
        }
    except Exception as error:  # noqa: BLE001 - what it raises is its answer
        return {"raises": type(error).__name__}


if __name__ == "__main__":
    print(json.dumps({e: {n: answer(e, n) for n in INPUTS} for e in (sys.argv[1:] or ["pandas", "polars"])}, indent=1))
