"""A load as a step runs it: landed files, an admission record, a real DuckDB file, the tool, and its checks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.check import NotApplicable
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission, AdmittedObject, Model, ToolCall
from dagster_planexec.contract.verdict import Phase, Verdict
from dagster_planexec.errors import PortError
from dagster_planexec.execute.admit import hash_suites
from dagster_planexec.execute.observer import observe
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.tools.warehouse.create_table import CreateTableArgs, WarehouseCreateTable
from dagster_planexec.tools.warehouse.load import LoadArgs, WarehouseLoad
from dagster_planexec.world.history import PastPeriod
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import ObjectFacts, Ports, Roots
from tests.support.reconciling import WallClock
from tests.support.reconciling import task as task_of

TARGET = "staging.vendor_202603"
NOW = datetime(2026, 4, 1, tzinfo=UTC)


def invoice_contract(**changes: object) -> FileContract:
    """Charges with a text key, a date, DECIMAL money and an optional note."""
    declared: dict[str, object] = {
        "name": "charges",
        "version": "3",
        "columns": (
            Column(name="id", headers=("id", "Invoice Id"), type="text"),
            Column(name="day", type="date", formats=("%Y-%m-%d",)),
            Column(name="amount", headers=("amount", "Amount GBP"), type="decimal"),
            Column(name="note", type="text", required=False, nullable=True),
        ),
        "key": ("id",),
        "amount": "amount",
        "date": "day",
        "currency": "GBP",
    }
    return FileContract(**(declared | changes))


@dataclass
class Loading:
    """Lands files and loads them."""

    folder: Path
    contract: FileContract = field(default_factory=invoice_contract)
    period: Period = field(default_factory=lambda: Period.parse("2026-03", "month"))
    admitted: list[AdmittedObject] = field(default_factory=list)
    landed: list[str] = field(default_factory=list)
    past: tuple[PastPeriod, ...] = ()

    def __post_init__(self) -> None:
        self.task: Task = replace(task_of(), contracts={"charges": self.contract})
        self.warehouse = DuckDbWarehouse(self.folder / "w.duckdb")
        roots = Roots(self.folder / "sql", self.folder / "reports", self.folder / "landing")
        self.ports = Ports(None, self.warehouse, None, WallClock(), roots)  # type: ignore[arg-type]

    def land(self, raw: bytes | str, key: str = "vendor/2026-03.csv") -> str:
        """Put bytes where a fetch of that key would have put them."""
        data = raw.encode() if isinstance(raw, str) else raw
        sha256 = hashlib.sha256(data).hexdigest()
        path = self.ports.roots.landed_path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        facts = ObjectFacts("vendor-drops", key, len(data), "e", NOW)
        self.admitted.append(AdmittedObject(facts, sha256))
        self.landed.append(sha256)
        return sha256

    @property
    def args(self) -> LoadArgs:
        """Everything that is landed, into the target."""
        return LoadArgs(sources=tuple(self.landed), target=TARGET)

    @property
    def admission(self) -> Admission:
        """What was landed, as it was admitted."""
        return Admission(tuple(self.admitted), {}, {}, suites=hash_suites(self.task), past=self.past)

    @property
    def call(self) -> ToolCall:
        """What the tool is given."""
        return ToolCall(self.task, self.period, "load_staging", self.ports, self.admission, 60.0)

    def create(self) -> None:
        """The empty table, as an earlier step makes it."""
        done = WarehouseCreateTable().call(CreateTableArgs(target=TARGET, contract="charges"), self.call)
        assert isinstance(done, Done), done

    def load(self, *, create: bool = True) -> Outcome:
        """Call the tool."""
        if create:
            self.create()
        return WarehouseLoad().call(self.args, self.call)

    def ended(self) -> tuple[str | None, str]:
        """Load, and the code with which the step would end: of the tool, or of the first check that fails; its words.

        Of a load that passes: None, and the words of every check.
        """
        try:
            outcome = self.load()
        except PortError as error:
            return error.code, error.message
        if isinstance(outcome, Failed):
            return outcome.code, outcome.message
        verdicts = [verdict for name in WarehouseLoad.contract.postconditions for verdict in self.judge(name)]
        return next(((v.code, v.text) for v in verdicts if not v.opens), (None, " ".join(v.text for v in verdicts)))

    def sql(self, *statements: str) -> list[tuple[object, ...]]:
        """Run statements; the rows of the last."""
        rows: list[tuple[object, ...]] = []
        with self.warehouse.session() as session:
            for statement in statements:
                rows = session.rows(statement)
        return rows

    def judge(
        self,
        name: str,
        *,
        args: Model | None = None,
        result: Model | None = None,
        phase: Phase = "post",
        claimed: dict[str, object] | None = None,
    ) -> list[Verdict]:
        """The verdicts of one check, looked at and judged as the harness does."""
        tool, given = WarehouseLoad.contract, args or self.args
        scope = StepScope(
            self.task, self.period, "load_staging", tool, given, result, self.admission, self.ports.roots,
            claim_args={name: claimed or {}},
        )  # fmt: skip
        bound = BINDERS[name](scope, phase)
        probes = [probe for check in bound if not isinstance(check, NotApplicable) for probe in check.probes]
        seen = observe(probes, self.ports)
        return [check.verdict() if isinstance(check, NotApplicable) else check.verdict(seen) for check in bound]

    def verdict(self, name: str, **how: object) -> Verdict:
        """The only verdict of a check."""
        (found,) = self.judge(name, **how)  # type: ignore[arg-type]
        return found
