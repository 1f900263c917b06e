"""The tools that come with the package; see `builtin`."""

from dagster_planexec.tools.builtin import BUILTIN_TOOLS

__all__ = ["BUILTIN_TOOLS"]
