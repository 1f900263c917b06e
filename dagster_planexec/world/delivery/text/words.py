"""How the text of a delivered file is shown, and what is said of one that is too long."""

from __future__ import annotations

from dagster_planexec.errors import PortError

SHOWN = 80
"""Characters of a cell that are ever shown or stored."""


def shown(text: str) -> str:
    """Text of a file, quoted and bounded, so that it can stand in a message."""
    return repr(text[:SHOWN]) + ("..." if len(text) > SHOWN else "")


def too_large(name: str, most: int) -> PortError:
    """What to say of a file that is longer, decoded, than its contract allows."""
    return PortError(
        "TOO_LARGE", f"{name[:80]} holds more than {most:,} bytes once it is decoded, which its contract allows",
        hint="ask the vendor what it is; if it is rightly as long, raise `max_bytes` in the file contract",
    )  # fmt: skip
