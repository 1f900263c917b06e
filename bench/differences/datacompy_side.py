"""Run by the interpreter that has datacompy: what it says of each case, read as a careful user would read it.

Standard input: a JSON list of cases `{"name", "ledger": [[key, amount]], "vendor": ..., "tolerance"}`.
Standard output: one answer per case, engine and reading: `sniffed` lets the engine type a CSV by itself, `declared`
reads keys as text and amounts as exact decimals.
"""

import importlib
import io
import json
import sys
from decimal import Decimal
from typing import Any

import datacompy

ENGINES = {"pandas": datacompy.PandasCompare, "polars": datacompy.PolarsCompare}
READINGS = ("sniffed", "declared")


def told(case: dict[str, Any], engine: str, reading: str) -> dict[str, Any]:
    """Whether both sides match, and the counts it would print; or what it raises."""
    how = {"abs_tol": float(case["tolerance"])} if case.get("tolerance") else {}
    try:
        sides = [_frame(case[side], engine, reading) for side in ("ledger", "vendor")]
        found = ENGINES[engine](*sides, join_columns="key", df1_name="ledger", df2_name="vendor", **how)
        equal = int(found.count_matching_rows())
        return {
            "matches": bool(found.matches()),
            "equal": equal,
            "unequal": len(found.intersect_rows) - equal,
            "ledger_only": len(found.df1_unq_rows),
            "vendor_only": len(found.df2_unq_rows),
        }
    except Exception as error:  # noqa: BLE001 - whatever it raises is its answer
        return {"raises": type(error).__name__}


def _frame(rows: list[list[str]], engine: str, reading: str) -> Any:  # noqa: ANN401 - a frame of either engine
    text = "key,amount\n" + "".join(f"{key},{amount}\n" for key, amount in rows)
    frames = importlib.import_module(engine)
    if reading == "sniffed":
        return frames.read_csv(io.StringIO(text))
    if engine == "pandas":
        # From text to decimal without a float between them, which `read_csv` would put there.
        read = frames.read_csv(io.StringIO(text), dtype=str)
        read["amount"] = read["amount"].map(lambda cell: None if frames.isna(cell) else Decimal(cell)).astype(object)
        return read
    return frames.read_csv(io.StringIO(text), schema_overrides={"key": frames.String, "amount": frames.Decimal(38, 17)})


cases = json.load(sys.stdin)
answers = {
    case["name"]: {engine: {reading: told(case, engine, reading) for reading in READINGS} for engine in ENGINES}
    for case in cases
}
json.dump({"version": datacompy.__version__, "answers": answers}, sys.stdout)
