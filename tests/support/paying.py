"""Toy tools whose call cannot be undone: one line per step, kept in the tool itself, carried out as real ones are."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from dagster_planexec.contract.effects.tally import Tally
from dagster_planexec.contract.outcome import Done, Failed, Held
from dagster_planexec.contract.tool import EffectTool, ToolCall
from dagster_planexec.errors import PortError, RefusedError
from dagster_planexec.execute.step.call import OPEN_ENDED
from dagster_planexec.world.ports import Credit, CreditLine, Ports


class OneLine(EffectTool):
    """Put before a toy tool: what its `call` does is the one line of a step.

    Codes that leave open what happened do so here too; after any other nothing has happened.
    """

    _args: Any = None
    _made: Any = None

    def _held_credits(self) -> dict[tuple[str, int], Credit]:
        return self.__dict__.setdefault("_kept", {})  # type: ignore[no-any-return]

    def scope(self, call: ToolCall) -> str:
        """Of toys."""
        return "toys"

    def currency(self, call: ToolCall) -> str:
        """Toy money."""
        return "USD"

    def target(self, ports: Ports) -> str:
        """Itself."""
        return "toy"

    def due(self, args: Any, call: ToolCall) -> Sequence[CreditLine]:
        """One line, named after the step."""
        self._args = args
        return [CreditLine(call.step, Decimal(1))]

    def held(self, args: Any, call: ToolCall, tally: Tally) -> Held | None:
        """Never."""
        return None

    def listed(self, call: ToolCall) -> Sequence[Credit]:
        """What it did."""
        return list(self._held_credits().values())

    def find(self, credit: Credit, call: ToolCall) -> Credit | None:
        """As listed."""
        return self._held_credits().get((credit.key, credit.ordinal))

    def issue(self, credit: Credit, call: ToolCall) -> None:
        """What the toy does when it is called."""
        made: object = super(EffectTool, self).call(self._args, call)  # type: ignore[safe-super]
        if isinstance(made, Failed | Held):
            kind = PortError if made.code in OPEN_ENDED else RefusedError
            raise kind(made.code, made.message, retry_after_s=getattr(made, "retry_after_s", None))
        if not isinstance(made, Done):
            raise TypeError(made)
        self._made = made.result
        self._held_credits()[credit.key, credit.ordinal] = credit

    def result(self, args: Any, call: ToolCall, tally: Tally) -> Any:
        """What the toy made."""
        return self._made


def paying(kind: type[Any]) -> type[Any]:
    """The class of a toy tool, with its call carried out line by line."""
    return kind if issubclass(kind, EffectTool) else type(kind.__name__, (OneLine, kind), {})
