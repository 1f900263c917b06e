"""The validation as a page for people: Great Expectations' Data Docs, without anything that runs or is loaded."""

from __future__ import annotations

import html
import re
from typing import Any

from great_expectations.core import ExpectationSuiteValidationResult
from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
from great_expectations.render.view.view import DefaultJinjaPageView

_LONGEST = 200
_RUNS = re.compile(r"(?is)<script\b.*?</script\s*>|<script\b[^>]*>|<link\b[^>]*>")
_HEAD = re.compile(r"(?i)<head>")
# The page is opened from a disk, by somebody who may be logged in elsewhere: it asks nobody for anything.
_SAFE = (
    "<head>\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #ccc;"
    "padding:.3em .6em;vertical-align:top;text-align:left}"
    # What leads nowhere here: a logo and a site of pages that are not there, a filter without its script, an offer.
    "nav.navbar.sticky-top,footer,a[href^='http'],.collapse,[data-toggle=collapse]{display:none}"
    # The library's marks are a font from elsewhere.
    ".fa-check-circle::before{content:'holds'}.fa-times::before{content:'broken'}"
    ".fa-exclamation-triangle::before{content:'not evaluated'}</style>"
)


def page_of(result: ExpectationSuiteValidationResult) -> str:
    """The page. What the table holds is escaped before the library sees it: it writes cells as they are.

    The results are altered for it; nothing else may use them afterwards.
    """
    for one in result.results:
        one.result = _escaped(one.result)
        one.exception_info = _escaped(one.exception_info)
    text = DefaultJinjaPageView().render(ValidationResultsPageRenderer().render(result))  # type: ignore[no-untyped-call]
    return _HEAD.sub(lambda _: _SAFE, _RUNS.sub("", text), count=1)


def _escaped(value: Any) -> Any:  # noqa: ANN401 - any JSON of the library
    if isinstance(value, dict):
        return {_escaped(name) if name.startswith("Metric") else name: _escaped(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(one) for one in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    return html.escape(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)").replace(
        "$", "&#36;"
    )
