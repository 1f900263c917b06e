"""A user's project: the year's task, and an asset of the user's own behind one of its deliverables."""

import os

import dagster as dg

from dagster_planexec import arrival_sensor, planexec_definitions
from dagster_planexec.definitions.partitions import partitions_of
from tests.projects.year.binding import YEAR

TASKS = (YEAR,)
LOOKING = "YEAR_LOOKS_AT_ITS_DROP"
"""While it is set, deliveries start runs by themselves."""


@dg.asset(deps=["recon_report"], partitions_def=partitions_of(YEAR.binding.task))
def month_end_close(context: dg.AssetExecutionContext) -> None:
    """Closes the books of a month, behind its report."""
    context.log.info("closed %s", context.partition_key)


sensors = [arrival_sensor(YEAR.binding)] if os.environ.get(LOOKING) else []
defs = dg.Definitions.merge(planexec_definitions(YEAR, sensors=sensors), dg.Definitions(assets=[month_end_close]))
