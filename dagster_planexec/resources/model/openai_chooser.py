"""Who may pick from the menu, over a model, as a Dagster resource: its key is read where steps are run."""

from __future__ import annotations

from typing import cast

import dagster as dg
from pydantic import Field

from dagster_planexec.planner.openai.openai_chooser import OpenAIChooser
from dagster_planexec.resources.model.settings import with_environment


class OpenAIChooserResource(dg.ConfigurableResource[None]):
    """Settings of an `OpenAIChooser`; give the key as an `EnvVar`.

    It is off unless a task says `recovery_choice=True` and its binding names it,
    `TaskBinding(..., chooser=OpenAIChooserResource(model="...", api_key=EnvVar("PLANEXEC_CHOOSER_KEY")).chooser)`.

    Mind what that does: the key of a model's service is then where steps run, beside the keys of the warehouse and of
    the credit system, and each question leaves that place with one bounded line of what went wrong. Use a key of its
    own with a limit of its own, not that of the planner.
    """

    model: str = Field(description="The model's name, as its service knows it.")
    api_key: str = Field(
        default="", repr=False, description="The key; give an EnvVar. Empty if the service wants none."
    )
    base_url: str | None = Field(default=None, description="Where the service is; OpenAI's own if unset.")
    timeout_s: float = Field(default=20.0, gt=0, description="Seconds for the one request; 29 at most are waited.")
    price_in: str | None = Field(default=None, description="US dollars per million tokens asked, e.g. '2.50'.")
    price_out: str | None = Field(default=None, description="US dollars per million tokens answered.")

    def port(self) -> OpenAIChooser:
        """The chooser, from settings that have been read."""
        return OpenAIChooser(
            self.model, api_key=self.api_key, base_url=self.base_url, timeout_s=self.timeout_s,
            price_in=self.price_in, price_out=self.price_out,
        )  # fmt: skip

    def chooser(self) -> OpenAIChooser:
        """The chooser, with the environment of this process.

        Raises:
            PlanexecError: BAD_CONTRACT if a variable is not set, or a setting cannot be used.
        """
        made = with_environment(self, "the chooser", "set it in the environment of the worker that runs the steps")
        return cast("OpenAIChooserResource", made).port()
