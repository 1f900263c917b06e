"""The planner that asks a model, as a Dagster resource: its key is read where a task is settled, and nowhere else."""

from __future__ import annotations

from typing import cast

import dagster as dg
from pydantic import Field

from dagster_planexec.planner.openai.openai_planner import OpenAIPlanner
from dagster_planexec.resources.model.settings import with_environment


class OpenAIPlannerResource(dg.ConfigurableResource[None]):
    """Settings of an `OpenAIPlanner`; give the key as an `EnvVar`.

    It is none of a task's ports: whoever runs a plan does so without it. A project names it as the task's planner,
    `PlannedTask(binding, OpenAIPlannerResource(model="...", api_key=EnvVar("OPENAI_API_KEY")).planner)`.
    """

    model: str = Field(description="The model's name, as its service knows it.")
    api_key: str = Field(
        default="", repr=False, description="The key; give an EnvVar. Empty if the service wants none."
    )
    base_url: str | None = Field(default=None, description="Where the service is; OpenAI's own if unset.")
    timeout_s: float = Field(default=120.0, gt=0, description="Seconds for one request.")
    max_output_tokens: int = Field(default=16_000, gt=0, description="Tokens of an answer.")
    price_in: str | None = Field(default=None, description="US dollars per million tokens of the prompt, e.g. '2.50'.")
    price_out: str | None = Field(default=None, description="US dollars per million tokens of the answer.")

    def port(self) -> OpenAIPlanner:
        """The planner, from settings that have been read."""
        return OpenAIPlanner(
            self.model, api_key=self.api_key, base_url=self.base_url, timeout_s=self.timeout_s,
            max_output_tokens=self.max_output_tokens, price_in=self.price_in, price_out=self.price_out,
        )  # fmt: skip

    def planner(self) -> OpenAIPlanner:
        """The planner, with the environment of this process.

        Raises:
            PlanexecError: BAD_CONTRACT if a variable is not set, or a setting cannot be used.
        """
        made = with_environment(self, "the planner", "set it in the environment of the worker that settles")
        return cast("OpenAIPlannerResource", made).port()
