"""The manifest that a vendor delivers beside its files: which parts there are, and what they come to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.delivery.manifest.form import ManifestForm
from dagster_planexec.world.period import Period


@dataclass(frozen=True, slots=True)
class Manifest:
    """Where the manifest of a period lies, and how it is written.

    It is admitted with the delivery, and another one is another delivery; but it is no data, and no step reads it. The
    newest of several decides. A control file is a manifest that names no parts: counts and sums of the whole alone.

    Raises:
        PlanexecError: BAD_CONTRACT if the pattern names no period, or is no regular expression.
    """

    pattern: str
    """A regular expression over the key below the drop's prefix, with `{period}`; matched as a whole.

    What it matches is a manifest and nothing else, also where the drop's own pattern would match.
    """
    form: ManifestForm
    wait_s: int = 86_400
    """Seconds without change after which a run is asked for although the manifest or a part has not come.

    Such a run stops with MISSING_PART, which people are told of. A month that waits for ever is seen by nobody.
    """

    def __post_init__(self) -> None:
        wrong = None if "{period}" in self.pattern else "it does not name the period that the manifest is of"
        try:
            re.compile(self.pattern.replace("{period}", "2026-03"))
        except re.error as error:
            wrong = f"it is no regular expression: {error}"
        if wrong is None and self.wait_s < 0:
            wrong = f"it waits {self.wait_s} s"
        if wrong is not None:
            raise PlanexecError(
                "BAD_CONTRACT",
                f"the manifest pattern {self.pattern[:120]!r}: {wrong}",
                hint="write a regular expression over the key behind the prefix, with {period} where the period stands",
            )

    def pattern_of(self, period: Period) -> str:
        """The pattern of one period's manifests, without the prefix."""
        return self.pattern.replace("{period}", re.escape(period.text))
