"""A tool that is only described: its JSON Schema says what it takes, and nothing here carries it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, WrapValidator, create_model
from pydantic_core import PydanticCustomError

from dagster_planexec.contract.outcome import Failed, Outcome
from dagster_planexec.contract.tool import Effect, Kind, Model, Tool, ToolCall, ToolContract
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.foreign.json_lines import Number
from dagster_planexec.world.probe import Probe

LONGEST_DESCRIPTION = 1_000


class Anything(Model, extra="allow"):
    """Arguments or a result of which nothing is said."""


class DescribedTool(Tool):
    """A tool of a catalogue."""

    def __init__(self, contract: ToolContract) -> None:
        self.contract = contract

    def call(self, args: Any, call: ToolCall) -> Outcome:  # noqa: ANN401, ARG002 - the interface
        """Fail: there is nothing to call."""
        return Failed("BAD_CONTRACT", f"tool {self.contract.name[:80]!r} is only described; nothing carries it out")

    def seal(self, args: Any, result: Any, call: ToolCall) -> Probe:  # noqa: ANN401, ARG002 - the interface
        """Refuse: it leaves nothing behind."""
        raise PlanexecError("BAD_CONTRACT", f"tool {self.contract.name[:80]!r} is only described; it made nothing")


def described_tool(entry: Mapping[str, Any]) -> DescribedTool:
    """The tool of a catalogue's entry `{tool, description, parameters}`; whatever else is in it is not looked at.

    `effect` `read` is kept, anything else counts as `write`: what is not known to be harmless is not.

    Raises:
        PlanexecError: BAD_CONTRACT if the entry does not say what it must.
    """
    name = entry.get("tool")
    if not isinstance(name, str) or not 0 < len(name) <= 200:  # noqa: PLR2004 - as of a step's tool
        raise PlanexecError("BAD_CONTRACT", "'tool' is not a name of 1 to 200 characters")
    description = entry.get("description", "")
    if not isinstance(description, str):
        raise PlanexecError("BAD_CONTRACT", f"'description' of {name[:80]!a} is no text")
    effect: Effect = "read" if entry.get("effect") == "read" else "write"
    return DescribedTool(
        ToolContract(
            name=name,
            description=description[:LONGEST_DESCRIPTION],
            args=_arguments(name, entry.get("parameters")),
            result=Anything,
            effect=effect,
            preconditions=(),
            postconditions=(),
            errors={},
            idempotent=effect == "read",
            writes=None,
        )
    )


def _arguments(name: str, parameters: object) -> type[Model]:
    """A closed model of what the schema declares; without `properties` it declares nothing and takes anything."""
    about = f"'parameters' of {name[:80]!a}"
    if parameters is None:
        return Anything
    if not isinstance(parameters, Mapping):
        raise PlanexecError("BAD_CONTRACT", f"{about} is no JSON Schema object")
    required = parameters.get("required", ())
    if not isinstance(required, list | tuple) or not all(isinstance(word, str) for word in required):
        raise PlanexecError("BAD_CONTRACT", f"'required' in {about} is no list of names")
    properties = parameters.get("properties")
    if properties is None:
        return Anything
    if not isinstance(properties, Mapping):
        raise PlanexecError("BAD_CONTRACT", f"'properties' in {about} is no object")
    for word, schema in properties.items():
        if not isinstance(schema, Mapping | bool):
            raise PlanexecError("BAD_CONTRACT", f"property {word[:80]!a} in {about} is no JSON Schema")
    # A property may have any name at all, so it is an alias: fields are numbered.
    wanted = frozenset(required)
    takes = {word: _type(schema) for word, schema in properties.items()}
    takes |= {word: _UNDECLARED for word in required if word not in takes}
    fields: dict[str, Any] = {
        f"argument_{at}": (kind, Field(... if word in wanted else None, alias=word))
        for at, (word, kind) in enumerate(takes.items())
    }
    return create_model("Arguments", __base__=Model, __module__=__name__, **fields)


def _typed(declared: str) -> WrapValidator:
    """Accepts what is of one JSON type at its top; what is inside a list or an object is not looked at."""

    def check(value: Any, _: object) -> Any:  # noqa: ANN401 - any JSON
        if not _is_of(declared, value):
            raise PydanticCustomError("json_type", "a JSON {declared}", {"declared": declared})
        return value

    return WrapValidator(check)


def _is_of(declared: str, value: object) -> bool:
    match declared:
        case "string":
            return isinstance(value, str) and not isinstance(value, Number)
        case "integer":
            return _is_integer(value)
        case "number":
            return isinstance(value, Number | float) or _is_integer(value)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list | tuple)
        case "object":
            return isinstance(value, Mapping)
        case _:
            return value is None


def _is_integer(value: object) -> bool:
    return value.is_integer if isinstance(value, Number) else isinstance(value, int) and not isinstance(value, bool)


def _refuse(_value: object, _handler: object) -> Any:  # noqa: ANN401 - never returns
    raise PydanticCustomError("extra_forbidden", "an argument that is declared")


_UNDECLARED = Annotated[Any, WrapValidator(_refuse)]
"""What is required and not declared: missing if it is not given, unknown if it is."""

_TYPES: dict[str, Any] = {
    "string": Annotated[str, _typed("string")],
    "integer": Annotated[int, Kind("integer"), _typed("integer")],
    "number": Annotated[float, Kind("number"), _typed("number")],
    "boolean": Annotated[bool, Kind("boolean"), _typed("boolean")],
    "array": Annotated[list[Any], _typed("array")],
    "object": Annotated[dict[str, Any], _typed("object")],
    "null": Annotated[None, _typed("null")],
}


def _type(schema: object) -> Any:  # noqa: ANN401 - a type
    """The type of a property that declares exactly one; unions, enumerations and whatever is nested take anything."""
    declared = schema.get("type") if isinstance(schema, Mapping) else None
    return _TYPES.get(declared, Any) if isinstance(declared, str) else Any
