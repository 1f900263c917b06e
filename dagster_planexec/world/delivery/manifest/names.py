"""The names in a manifest: the vendor's text, which never leads out of the drop and is shown in bounded quotes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import NoReturn

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.manifest.form import MOST_NAME, NamesAre, Place

_SHOWN = 80
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://")


def key_of(place: Place, manifest: str, names: NamesAre) -> Callable[[str, str], str]:
    """Makes a name in a manifest the key of a part.

    Args:
        place: Where parts may lie.
        manifest: The manifest's own key.
        names: What its names are relative to.
    """
    rest = re.compile(place.pattern)
    folder = manifest[: manifest.rfind("/") + 1]
    before = {"beside-manifest": folder, "below-prefix": place.prefix, "whole-keys": ""}[names]

    def key(name: str, where: str) -> str:
        wrong = _wrong(name) or (_elsewhere(name, place.bucket) if names == "whole-keys" else _absolute(name))
        if wrong is not None:
            refuse(f"{where} names {quoted(name)}: {wrong}")
        found = before + (name.removeprefix(f"s3://{place.bucket}/") if names == "whole-keys" else name)
        if not found.startswith(place.prefix):
            refuse(f"{where} names {quoted(name)}, which lies outside of {quoted(place.prefix)}")
        if rest.fullmatch(found[len(place.prefix) :]) is None:
            refuse(f"{where} names {quoted(name)}, which the drop's pattern does not hold: no step would read it")
        return found

    return key


def _wrong(name: str) -> str | None:
    """What is wrong with a name, wherever it would lead."""
    if not name or name != name.strip():
        return "it is empty, or has blanks around it"
    if len(name) > MOST_NAME or len(name.encode("utf-8", errors="surrogatepass")) > MOST_NAME:
        return f"it is longer than the {MOST_NAME} bytes that a key may have"
    if any(unicodedata.category(letter) in {"Cc", "Cs"} for letter in name):
        return "it has a control character in it"
    if any(piece in {".", ".."} for piece in name.split("/")):
        return "it has '.' or '..' as a folder"
    return None


def _absolute(name: str) -> str | None:
    if name.startswith("/") or _SCHEME.match(name):
        return "it is a whole address, and names of this manifest are declared to be relative"
    return None


def _elsewhere(name: str, bucket: str) -> str | None:
    if name.startswith("/") or (_SCHEME.match(name) and not name.startswith(f"s3://{bucket}/")):
        return f"it is no key of the bucket {bucket!r}"
    return None


def quoted(text: str) -> str:
    """A vendor's text, quoted; of a long one the end, which tells keys apart, and how long it is."""
    return repr(text) if len(text) <= _SHOWN else f"...{text[-_SHOWN:]!r} ({len(text):,} letters)"


def refuse(what: str) -> NoReturn:
    """Say that a manifest cannot be read.

    Raises:
        PortError: BAD_MANIFEST.
    """
    raise PortError(
        "BAD_MANIFEST",
        f"the manifest cannot be used: {what}",
        hint="ask the vendor for a manifest as it was agreed, or correct `Drop.manifest`",
    )
