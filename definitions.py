"""The project: its tasks, and what Dagster makes of them. `dagster dev` and `planexec` load this file."""

from assets.council_spend.binding import COUNCIL_SPEND
from assets.dependency_audit.binding import DEPENDENCY_AUDIT
from assets.row_count_investigation.binding import ROW_COUNT_INVESTIGATION
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import planexec_definitions
from sensors.arrivals import arrivals_of
from sensors.failures import tell
from sensors.holds import ask

TASKS = (VENDOR_RECONCILIATION, COUNCIL_SPEND, DEPENDENCY_AUDIT, ROW_COUNT_INVESTIGATION)

defs = planexec_definitions(
    *TASKS,
    sensors=[arrivals_of(planned) for planned in TASKS if planned.binding.task.drop is not None],
    on_failure=tell,
    on_hold=ask,
)
