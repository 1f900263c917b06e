"""Whether live data is still what an attempt was opened on."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.world import subject
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import named_fingerprint, seen_of_table
from dagster_planexec.world.sides.relation import InputView
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
        return seen_of_table(self, ports, self.view.table, self._look)

    def _look(self, session: Session) -> dict[str, Fact]:
        found = named_fingerprint(session, self.view.table, self.view.query(session.quote))
        return {"fingerprint": str(found), "rows": found.rows, "digest": found.digest}
