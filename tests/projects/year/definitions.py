"""A user's project: the year's task, and an asset of the user's own behind one of its deliverables."""

import dagster as dg

from dagster_planexec import planexec_definitions
from dagster_planexec.definitions.partitions import partitions_of
from tests.projects.year.binding import YEAR

TASKS = (YEAR,)


@dg.asset(deps=["recon_report"], partitions_def=partitions_of(YEAR.binding.task))
def month_end_close(context: dg.AssetExecutionContext) -> None:
    """Closes the books of a month, behind its report."""
    context.log.info("closed %s", context.partition_key)


defs = dg.Definitions.merge(planexec_definitions(YEAR, sensors=[]), dg.Definitions(assets=[month_end_close]))
