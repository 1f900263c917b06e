"""Run by the interpreter that `--peers` names: dlt loads the invoice into a DuckDB file.

Its fastest path for such a file: pyarrow reads it with all types declared, so dlt has no row to look at; what it
extracts is Parquet, which DuckDB then reads.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

with tempfile.TemporaryDirectory() as scratch:
    os.environ |= {"DLT_DATA_DIR": scratch, "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}
    import dlt
    import duckdb
    import pyarrow as pa
    from pyarrow import csv

    file, peak = Path(sys.argv[1]), Path("/proc/self/status")
    types = {"Line": pa.int64(), "Service Date": pa.date32(), "Net Amount": pa.decimal128(18, 2)}
    options = csv.ConvertOptions(column_types=types | dict.fromkeys(("Charge Ref", "Account"), pa.string()))

    def invoice() -> Iterator[pa.Table]:
        """The file as one table: dlt is quicker so than by batches."""
        yield csv.read_csv(file, convert_options=options)

    database = Path(scratch, "peer.duckdb")
    began = time.perf_counter()
    pipeline = dlt.pipeline(
        "invoice", destination=dlt.destinations.duckdb(str(database)), dataset_name="staging", pipelines_dir=scratch
    )
    pipeline.run(dlt.resource(invoice, name="invoice"), loader_file_format="parquet", write_disposition="replace")
    seconds = time.perf_counter() - began
    with duckdb.connect(str(database)) as connection:
        rows, total = connection.execute("select count(*), sum(net_amount) from staging.invoice").fetchone()
    (line,) = (line for line in peak.read_text().splitlines() if line.startswith("VmHWM:"))
    print(json.dumps({"seconds": seconds, "peak_mb": int(line.split()[1]) * 1024 / 1e6, "result": [rows, str(total)]}))
