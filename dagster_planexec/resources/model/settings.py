"""Settings of what asks a model, read from the environment of the process that asks."""

from __future__ import annotations

import re
from typing import Any, cast

import dagster as dg

from dagster_planexec.errors import PlanexecError

_UNSET = re.compile(r'environment variable "([^"]{1,200})" which is not set')


def with_environment(resource: dg.ConfigurableResource[Any], what: str, hint: str) -> object:
    """The resource with the values of its variables, of its own class.

    Args:
        resource: Settings, with an `EnvVar` here and there.
        what: What is set up, for the error.
        hint: What to do about a variable that is not set.

    Raises:
        PlanexecError: BAD_CONTRACT if a variable is not set, or a setting cannot be used.
    """
    try:
        return cast("Any", resource).process_config_and_initialize()
    except dg.DagsterInvalidConfigError as error:
        said = " ".join(str(one.message) for one in error.errors)
        unset = _UNSET.search(said)
        wrong = f"the variable {unset[1]!r} is not set" if unset else said.split("Stack Trace", maxsplit=1)[0][:300]
        raise PlanexecError("BAD_CONTRACT", f"{what} cannot be set up: {wrong}", hint=hint) from None
