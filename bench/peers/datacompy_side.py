"""Run by the interpreter that `--peers` names: datacompy compares both sides, which lie in memory already.

Its engines: `pandas`, the one it began with; `polars`, its fastest. Both compare exact decimals.
"""

import importlib
import json
import sys
import time
from pathlib import Path

import datacompy

engine, folder = sys.argv[1], Path(sys.argv[2])
frames = importlib.import_module(engine)
compare = {"pandas": datacompy.PandasCompare, "polars": datacompy.PolarsCompare}[engine]
ledger, vendor = (frames.read_parquet(folder / f"{side}.parquet") for side in ("ledger", "vendor"))
began = time.perf_counter()
found = compare(ledger, vendor, join_columns="charge_id")
identical = int(found.count_matching_rows())
seconds = time.perf_counter() - began
result = {
    "amount_differs": len(found.intersect_rows) - identical,
    "identical": identical,
    "ledger_only": len(found.df1_unq_rows),
    **({"vendor_only": len(found.df2_unq_rows)} if len(found.df2_unq_rows) else {}),
}
(line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(json.dumps({"seconds": seconds, "peak_mb": int(line.split()[1]) * 1024 / 1e6, "result": result}))
