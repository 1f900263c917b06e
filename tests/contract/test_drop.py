"""A drop's pattern: one name in braces stands for something, every other is refused before a key is missed by it."""

from __future__ import annotations

import pytest

from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.contract.task import Drop
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.delivery.manifest.form import ManifestForm, PartWords
from dagster_planexec.world.period import Period

MARCH = Period.parse("2026-03", "month")


def drop(pattern: str) -> Drop:
    """A drop with that pattern."""
    return Drop("bucket", "in/", pattern, input="vendor")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (r"{compact}-invoice\.csv", "{compact}"),
        (r"{period}-{vendor}\.csv", "{vendor}"),
        (r"{Period}\.csv", "{Period}"),
        (r"{ period }\.csv", "{ period }"),
        (r"{period:%Y}\.csv", "{period:%Y}"),
        (r"\\{year}\.csv", "{year}"),
        (r"{monat_ä}\.csv", "{monat_ä}"),
    ],
)
def test_a_name_that_stands_for_nothing_is_refused(pattern: str, names: str) -> None:
    """BAD_CONTRACT says which name, and that {period} is the one there is."""
    with pytest.raises(PlanexecError) as refused:
        drop(pattern)

    assert refused.value.code == "BAD_CONTRACT"
    assert names in refused.value.message
    assert "{period}" in refused.value.hint


@pytest.mark.parametrize(
    ("data", "manifest", "says"),
    [
        (r"{period}\.csv", r"{period}-{vendor}\.json", r"the manifest pattern '{period}-{vendor}"),
        (r"(\d)-{period}-\1\.csv", r"{period}\.json", "the drop pattern .* refers back to a group by its number"),
        (r"{period}\.csv", r"(a|b)-{period}-\1\.json", "the manifest pattern .* refers back"),
    ],
)
def test_a_pattern_beside_another_is_one_that_both_can_be(data: str, manifest: str, says: str) -> None:
    """The one that is wrong is named."""
    form = ManifestForm("json", PartWords("name"), "files")
    with pytest.raises(PlanexecError, match=says):
        Drop("bucket", "in/", data, input="vendor", manifest=Manifest(manifest, form))
    Drop("bucket", "in/", r"(?P<n>\d)-{period}-(?P=n)\.csv", input="vendor", manifest=Manifest(r"{period}\.json", form))


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        (r"{period}\.csv", "2026-03.csv"),
        (r"{period}-[0-9]{4}\.csv", "2026-03-0001.csv"),
        (r"{period}-[a-z]{2,3}\.csv", "2026-03-ab.csv"),
        (r"{period}-a{2,}b{,3}\.csv", "2026-03-aabb.csv"),
        (r"{period}-\{final\}\.csv", "2026-03-{final}.csv"),
        (r"{period}\N{HYPHEN-MINUS}x\.csv", "2026-03-x.csv"),
        (r"all\.csv", "all.csv"),
    ],
)
def test_braces_of_a_regular_expression_are_legal(pattern: str, key: str) -> None:
    """Repetitions, escaped braces and named characters mean what they mean in one."""
    assert drop(pattern).matches(f"in/{key}", MARCH)
