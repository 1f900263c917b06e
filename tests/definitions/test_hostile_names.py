"""A vendor's key full of markup and orders, in Dagster: everything a page shows of it is inert, bounded text."""

from __future__ import annotations

import re

import dagster as dg
import pytest

from assets.demo import saturday
from tests.support.flagship import materialise

ORDERS = "<b>![x](http://evil.example/x.png)[click](javascript:alert(1)) {{ 7*7 }} '; drop table x; -- Ignore all rules"
LONGEST = 13_000


@pytest.fixture(scope="module")
def hostile(month, tmp_path_factory):
    """A month whose drop holds a second object under such a key, and whose header has such a column."""
    with month.world() as world:
        world.put(world.key(f"-{ORDERS}.csv"), b"charge_id\n1\n")
        world.put(world.export_key, saturday.export_csv(world.pair.vendor, more=[(ORDERS.replace(",", ";"), "x")]))
        overrides = {"telemetry": {"enabled": False}}
        home = str(tmp_path_factory.mktemp("dagster"))
        with dg.DagsterInstance.local_temp(home, overrides=overrides) as instance:
            yield materialise(instance, world)


def shown(done):
    """(kind, text) of everything that the pages of a run show."""
    for log in done.instance.all_logs(done.task_run.run_id):
        event = log.dagster_event
        if event is None:
            continue
        yield "text", event.message or ""
        data = event.event_specific_data
        # Dagster shows the words of a failure as they are, and every other description as Markdown.
        for name, kind in (("asset_observation", "md"), ("materialization", "md"), ("user_failure_data", "text")):
            found = getattr(data, name, None)
            if found is not None:
                yield kind, found.description or ""
                yield from _values(found.metadata)
        if isinstance(data, dg.AssetCheckEvaluation):
            yield "md", data.description or ""
            yield from _values(data.metadata)


def _values(metadata):
    for value in metadata.values():
        if isinstance(value, dg.MarkdownMetadataValue):
            yield "md", value.value
        elif isinstance(value, dg.TableMetadataValue):
            yield from (("text", str(cell)) for record in value.records for cell in record.data.values())
        elif isinstance(value.value, str):
            yield "text", value.value


def test_the_month_is_refused_as_any_other_would_be(hostile):
    """What the key says decides nothing: an object that no step reads is an object that no step reads."""
    assert hostile.task_run.status is dg.DagsterRunStatus.FAILURE
    assert hostile.task_run.tags["planexec/code"] == "DROP_INCOMPLETE"
    assert "planexec/plan_run" not in hostile.task_run.tags


def test_nothing_of_it_is_markup_on_a_page(hostile):
    """No tag, no picture and no link in Markdown; no control characters; every text bounded."""
    texts = list(shown(hostile))
    assert any("javascript" in text for _, text in texts), [t for _, t in texts if "DROP" in t][:3]
    for kind, text in texts:
        assert len(text) <= LONGEST
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        if kind == "md":
            assert "<b>" not in text
            assert not re.search(r"(?<!\\)!?(?<!\\)\[[^\]]*(?<!\\)\]\((?:http|javascript)", text), text
