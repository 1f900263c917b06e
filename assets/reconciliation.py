"""The one piece of task code behind both data sets: a vendor's delivery against a ledger, a report, and credits."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from dagster_planexec.contract.effects.policy import ApprovalPolicy
from dagster_planexec.contract.file_contract import load_contract
from dagster_planexec.contract.task import CreditRule, Deliverable, Drop, Limits, NamedInput, ResultShape, Scope, Task
from dagster_planexec.world.period import Granularity

SQL_FOLDER = Path(__file__).parent / "vendor_reconciliation" / "sql"
"""Where `reconcile.sql` lies. Both tasks run this text; it knows only the inputs' names."""

RESULT = ResultShape(
    key=("charge_id",),
    status="status",
    identical="identical",
    differs="amount_differs",
    only={"ledger": "ledger_only", "vendor": "vendor_only"},
    amounts={"ledger": "ledger_amount", "vendor": "vendor_amount"},
)
"""What `reconcile.sql` selects."""

APPROVAL = ApprovalPolicy(approvers=("ada", "grace"))
"""Either of them may release what waits; each has a key, see `planexec keys new`."""
CREDIT_CAP = Decimal("500.00")
CREDIT_LINES_THRESHOLD = 50
MIN_MATCHED_SHARE = Decimal("0.9")

TOOLS = (
    "warehouse.snapshot",
    "warehouse.create_table",
    "s3.get",
    "warehouse.load",
    "run_sql",
    "write_report",
    "issue_credit",
)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Which periods a reconciliation has, and by whose clock they begin."""

    granularity: Granularity
    zone: str
    first_period: str
    last_period: str | None = None


@dataclass(frozen=True, slots=True)
class Books:
    """The two sides: a table that is there already, and a delivery that has to be fetched and loaded."""

    folder: Path
    """Where `contracts/<contract>.yaml` lie."""
    ledger_table: str
    ledger_contract: str
    vendor_contract: str
    suites: frozenset[str] = frozenset()
    """Which of `vendor_invoice` and `recon_lines` have a suite in `expectations/<name>.json`."""

    def suite(self, name: str) -> Path | None:
        """The suite of that name, if there is one."""
        return self.folder / "expectations" / f"{name}.json" if name in self.suites else None


def reconciliation_task(  # noqa: PLR0913 - what differs between two reconciliations, and nothing else
    *,
    name: str,
    goal: str,
    calendar: Calendar,
    drop: Drop,
    books: Books,
    currency: str,
    effect_scope: str,
    prefix: str = "",
    version: str = "1",
) -> Task:
    """A task that reconciles one delivery per period with the ledger and credits what was overcharged.

    Args:
        name: The task's name, also the prefix of its jobs.
        goal: One sentence for the planner.
        calendar: Its partitions.
        drop: Where the vendor delivers; its `input` must be `vendor`.
        books: The tables and contracts of both sides.
        currency: ISO 4217 code of every amount.
        effect_scope: Names the credits across renamed tasks. Never change it: a new name would credit everything again.
        prefix: Put before the deliverables' names, which are asset keys and so unique within one project.
        version: To be raised whenever the meaning of the task changes.
    """
    contracts = {
        contract: load_contract(books.folder / "contracts" / f"{contract}.yaml")
        for contract in (books.vendor_contract, books.ledger_contract)
    }
    return Task(
        name=name,
        version=version,
        goal=goal,
        granularity=calendar.granularity,
        first_period=calendar.first_period,
        last_period=calendar.last_period,
        zone=calendar.zone,
        tools=TOOLS,
        drop=drop,
        inputs=(
            NamedInput("ledger", "side", books.ledger_contract, source=books.ledger_table),
            NamedInput("vendor", "side", books.vendor_contract),
        ),
        contracts=contracts,
        deliverables=(
            Deliverable(
                f"{prefix}vendor_invoice",
                ("s3.get", "warehouse.load"),
                input="vendor",
                suite=books.suite("vendor_invoice"),
            ),
            Deliverable(
                f"{prefix}recon_lines",
                ("warehouse.snapshot", "run_sql"),
                result=RESULT,
                suite=books.suite("recon_lines"),
            ),
            Deliverable(f"{prefix}recon_report", ("write_report",)),
            Deliverable(
                f"{prefix}credits",
                ("issue_credit",),
                repeatable=False,
                credit_rule=CreditRule(charged="ledger", billed="vendor"),
                effect_scope=effect_scope,
                effects_from=calendar.first_period,
            ),
        ),
        limits=Limits(
            currency=currency,
            credit_cap=CREDIT_CAP,
            credit_lines_threshold=CREDIT_LINES_THRESHOLD,
            min_matched_share=MIN_MATCHED_SHARE,
            max_steps=12,
        ),
        scope=Scope(
            schemas_read=frozenset({"ledger", "staging", "recon"}),
            schemas_write=frozenset({"staging", "recon"}),
            buckets={drop.bucket: (drop.prefix,)},
        ),
        approval=APPROVAL,
        # A part that arrives late is read by another plan. No other code says that another plan would help.
        replannable=frozenset({"DROP_INCOMPLETE"}),
    )
