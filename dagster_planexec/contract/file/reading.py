"""YAML that a person wrote, read to the letter: no word is changed into another, and no word counts twice.

YAML takes `yes` for true, `0100` for 64 and `2026-03-01` for a day; a reader that also takes true for 1 makes
`minor_units: yes` a number. Here plain text, decimal integers, fractions, true and false and null are all there is, and
each stands only where it is declared.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.local.regular import PATIENCE_S, open_named

if TYPE_CHECKING:
    import yaml

_M = TypeVar("_M", bound=BaseModel)
MOST_BYTES = 1 << 18
"""Bytes of such a file; the longest that people write has a twentieth of it."""
_MOST_UNFOLDED = 4 << 20
"""Characters and words that its aliases may unfold to."""
_DEEPEST = 30
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_QUOTES = "write it in quotes"


class _UnfitError(ValueError):
    """What the file holds is not what such a file can say."""


def read_yaml(
    path: Path, model: type[_M], *, whole: str, page: str, empty: bool = False, patience_s: float = PATIENCE_S
) -> _M:
    """One YAML file as a model.

    Args:
        path: The file; a pipe will do, unless it is silent.
        model: What it has to be.
        whole: What errors call the file as a whole: `contract`, `spec`.
        page: The page that lists its words.
        empty: Whether a file with nothing in it says nothing; else it lacks what is required.
        patience_s: How long a pipe may be silent.

    Raises:
        PlanexecError: BAD_CONTRACT with every field that is wrong.
    """
    import yaml  # noqa: PLC0415 - only tasks that read contracts pay for it

    hint = f"correct {path.name}; {page} lists the vocabulary"
    try:
        data = _plain(_loaded(_text(path, patience_s)))
        return model.model_validate_json(json.dumps({} if empty and data is None else data), strict=True)
    except ValidationError as error:
        where = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])[:120] or whole}: {item['msg'][:300]}"
            for item in error.errors(include_url=False, include_input=False)[:10]
        )
        raise PlanexecError("BAD_CONTRACT", f"{path.name}: {where}", hint=hint) from error
    except RecursionError as error:
        raise PlanexecError("BAD_CONTRACT", f"{path.name}: nested too deeply to be read", hint=hint) from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PlanexecError("BAD_CONTRACT", f"{path.name}: {str(error)[:300]}", hint=hint) from error


def _text(path: Path, patience_s: float) -> str:
    with open_named(path, patience_s=patience_s) as opened:
        raw = opened.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        msg = f"it has more than {MOST_BYTES:,} bytes"
        raise _UnfitError(msg)
    return raw.decode("utf-8")


def _loaded(text: str) -> object:
    loader = _loader()(text)
    try:
        return loader.get_single_data()
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # of PyYAML, met by odd text
        msg = f"it cannot be read as YAML: {error}"
        raise _UnfitError(msg) from error
    finally:
        loader.dispose()


def _refuse(node: yaml.Node, what: str) -> NoReturn:
    import yaml  # noqa: PLC0415 - loaded already by whoever reads

    raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)


def _written(node: yaml.Node) -> str:
    return repr(node.value[:40]) if isinstance(node.value, str) else f"what is marked {node.tag[:60]!r}"


def _loader() -> type[yaml.SafeLoader]:
    """PyYAML's safe loader without what it changes in silence. Made when it is needed, as PyYAML is."""
    import yaml  # noqa: PLC0415 - only tasks that read contracts pay for it

    def integer(_: yaml.SafeLoader, node: yaml.Node) -> int:
        if not isinstance(node.value, str) or not _INTEGER.fullmatch(node.value):
            _refuse(node, f"{_written(node)} is no decimal integer of up to 18 digits; if it is text, {_QUOTES}")
        return int(node.value)

    def fraction(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
        try:
            found = float(loader.construct_yaml_float(node))
        except (ValueError, ArithmeticError):
            _refuse(node, f"{_written(node)} is no number")
        if not math.isfinite(found):
            _refuse(node, f"{_written(node)} is no number; if it is text, {_QUOTES}")
        return found

    def truth(_: yaml.SafeLoader, node: yaml.Node) -> bool:
        found = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
        if not isinstance(node.value, str) or node.value.lower() not in found:
            _refuse(node, f"{_written(node)} is neither true nor false")
        return found[node.value.lower()]

    def other(_: yaml.SafeLoader, node: yaml.Node) -> NoReturn:
        kind = "a date" if node.tag.endswith(":timestamp") else "neither text nor number, as it stands there"
        _refuse(node, f"{_written(node)} is {kind}; {_QUOTES}")

    def mapping(loader: yaml.SafeLoader, node: yaml.Node) -> dict[Any, Any]:
        if not isinstance(node, yaml.MappingNode):
            _refuse(node, f"{_written(node)} is no mapping")
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != _STR:
                _refuse(key, f"the word {_written(key)} before a colon is not text; {_QUOTES}")
            if key.value in seen:
                _refuse(key, f"the word {_written(key)} stands there twice, and only one can be meant")
            seen.add(key.value)
        return loader.construct_mapping(node, deep=True)

    class Literal(yaml.SafeLoader):
        """Refuses what it would have to guess."""

        yaml_constructors = {  # noqa: RUF012 - PyYAML declares it so
            _STR: yaml.SafeLoader.construct_yaml_str,
            "tag:yaml.org,2002:seq": lambda loader, node: loader.construct_sequence(node, deep=True),
            "tag:yaml.org,2002:map": mapping,
            "tag:yaml.org,2002:null": yaml.SafeLoader.construct_yaml_null,
            "tag:yaml.org,2002:int": integer,
            "tag:yaml.org,2002:float": fraction,
            "tag:yaml.org,2002:bool": truth,
            None: other,
        }

    return Literal


_STR = "tag:yaml.org,2002:str"


def _plain(data: object) -> object:
    """The same, if JSON can say it, and if its aliases do not unfold without end."""
    left = _MOST_UNFOLDED

    def look(found: object, where: tuple[str, ...]) -> None:
        nonlocal left
        left -= 1 + (len(found) if isinstance(found, str) else 0)
        if left < 0 or len(where) > _DEEPEST:
            msg = f"{'.'.join(where[:5])[:120]}: its aliases or its nesting make more of it than anybody writes"
            raise _UnfitError(msg)
        if isinstance(found, str) and any("\ud800" <= character <= "\udfff" for character in found):
            msg = f"{'.'.join(where)[:120]}: {found[:40]!r} holds half a character (a surrogate)"
            raise _UnfitError(msg)
        if isinstance(found, dict):
            for key, value in found.items():
                look(key, (*where, repr(key)[1:41]))
                look(value, (*where, repr(key)[1:-1][:40]))
        elif isinstance(found, list):
            for at, value in enumerate(found):
                look(value, (*where, str(at)))

    look(data, ())
    return data
