"""Whether live data is still what an attempt was opened on."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.errors import PortError
from dagster_planexec.world import subject
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import LOOK_S, named_fingerprint
from dagster_planexec.world.sides.relation import InputView, by_contract
from dagster_planexec.world.subject import Subject


@dataclass(frozen=True, slots=True)
class FingerprintOfView(Probe):
    """The fingerprint of a live table's rows in scope of one period; rows of other periods may change freely."""

    view: InputView

    @property
    def subject(self) -> Subject:
        """The table, with the days that are in scope."""
        scope = f" [{self.view.start}, {self.view.end})" if self.view.date is not None else ""
        return subject.table(f"{self.view.table}{scope}")

    @property
    def reader(self) -> str:
        """A count and a sum of row hashes."""
        return "SQL fingerprint of the rows in scope"

    def observe(self, ports: Ports) -> Observation:
        """Facts `fingerprint` (the text that an admission record holds), `rows` and `digest`."""
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            try:
                with by_contract(self.view.table):
                    found = named_fingerprint(session, self.view.table, self.view.query(session.quote))
            except PortError as error:
                if error.code != "TABLE_GONE":
                    raise
                return self.absent(ports, f"there is no table {self.view.table}")
        return self.seen(ports, {"fingerprint": str(found), "rows": found.rows, "digest": found.digest})
