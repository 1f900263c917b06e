"""What the page says of each figure: its title, how it is measured, and why it may be missed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in words."""

    title: str
    how: str


FIGURES = {
    "check_plan": Figure(
        "static check of a plan",
        "every static rule over one plan of so many steps, SQL files read and parsed anew.",
    ),
    "compile_plan": Figure("plan to Dagster job", "one op per step, with its dependencies, from a plan at hand."),
    "import_cost": Figure(
        "import",
        "processor time of fresh interpreters: the costlier of `import dagster_planexec` alone and together with "
        "`import dagster`, against `import dagster`.",
    ),
    "step_cost": Figure(
        "a step, beside an op by hand",
        "a chain of steps, each of which copies a live table, as a plan's job and as a job of ops by hand. The ops do "
        "the same work on the same file, judge the same four checks and tell Dagster the same events; they keep no "
        "journal, hold no deadlines and could not be continued. Both run in one process on one instance on disk.",
    ),
    "tick": Figure(
        "a look at a drop",
        "one evaluation of the arrival sensor over so many keys of ten months, which a store at hand lists: the first, "
        "which writes all of them down, or a later one, whichever is slower. What a network takes is not in it.",
    ),
    "tick_memory": Figure(
        "peak memory of a look",
        "of a process that looks twice, beside one whose drop has a tenth of the keys.",
    ),
    "load": Figure(
        "load with every check, beside DuckDB's own",
        "preconditions, the load by contract, postconditions (an independent count and sum of the file by another "
        "parser, control totals, schema, period, keys) and the seal before and after them; against `insert into ... "
        "select * from read_csv` of the same landed file with all types declared. `tool alone` is the load without "
        "checks. That the step's inputs are looked at again, and the journal, is in the figure of a step, not here.",
    ),
    "reconcile_with_ablations": Figure(
        "reconcile with its ablations, beside the join",
        "the admitted query into a table, run again, and run with each side emptied, against the query alone, which is "
        "a full outer join.",
    ),
    "reconcile_with_everything": Figure(
        "reconcile with every check, beside the join",
        "the same with the overlap of keys and both independent sets of figures for the closing identities.",
    ),
    "typed_beside_join": Figure(
        "the typed comparison, beside the join",
        "the query that `reconcile` generates, into a table, against the query that a person wrote, which has no word "
        "for a key that repeats, a key that is missing and a row outside the period, and trims blanks only. Both find "
        "the same in every round.",
    ),
    "typed_with_ablations": Figure(
        "the typed comparison with its ablations, beside itself",
        "as above, each against the generated query alone.",
    ),
    "typed_with_everything": Figure(
        "the typed comparison with every check, beside itself", "the same with overlap and closing identities."
    ),
    "load_memory": Figure(
        "peak memory of a load",
        "resident memory of a process that does one load with every check; interpreter and libraries are in it. "
        "DuckDB may take what it likes.",
    ),
    "reconcile_memory": Figure("peak memory of a reconciliation", "the same of one reconciliation with every check."),
    "capped_load_memory": Figure(
        "a file ten times the memory cap",
        "one load with every check, in a process of its own, of a file ten times as large as the `memory_limit` of the "
        "warehouse. It loads whole, and rows and sum are compared. The budget is twice the cap and 200 MB: the "
        "interpreter and its libraries take most of that, and pyarrow and DuckDB's threads hold buffers that the cap "
        "does not count.",
    ),
    "faster_than_dlt": Figure(
        "load with every check, beside dlt",
        "dlt's fastest path for such a file (pyarrow reads it typed, dlt extracts Parquet, DuckDB reads that), without "
        "a check, against our load with every check; each in fresh processes, imports not counted. Rows and sum are "
        "compared in every round.",
    ),
    "faster_than_datacompy": Figure(
        "reconcile with every check, beside datacompy",
        "datacompy compares both sides, which lie in memory as exact decimals; ours reads them from disk, writes the "
        "result there and judges it. Counts are compared in every round. Its quicker engine counts; `join` is our "
        "comparison without the checks.",
    ),
    "leaner_than_datacompy": Figure(
        "peak memory beside datacompy", "of the same processes: its leaner engine, against ours with every check."
    ),
}

MISSES = {
    "check_plan": "A plan of a month has about ten steps, and is checked in a few milliseconds.",
    "step_cost": "What it buys is the journal: five commits to disk per step, of which none may be left out.",
    "load": "The independent count and sum and the keys are most of what is added; none of them can be left out.",
    "tick": "Most of the first look is writing the arrivals down; later looks keep the budget.",
    "reconcile_with_ablations": "The query is run a second time whole, and once without each side.",
    "reconcile_with_everything": "With a second run of the query, the overlap of keys is most of what is added.",
    "typed_with_ablations": (
        "The generated query puts the rows of both sides into groups. Without one side it still takes half of its "
        "time, where a join with nothing takes hardly any."
    ),
    "typed_with_everything": "Its ablations, as above.",
    "faster_than_dlt": (
        "By Arrow and Parquet dlt hands the file to the same engine in bulk, and is not much slower than the engine "
        "alone; ours reads the file a second time with another parser, and judges the table."
    ),
    "faster_than_datacompy": (
        "Its Polars engine counts, which is more than twice as quick as the pandas one. Ours reads both sides from "
        "disk, writes the result there, and runs the query three more times to judge it."
    ),
}
"""Said of a figure only where its budget is missed."""
