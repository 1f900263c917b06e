"""What a manifest states against files and table: to the last digit, part by part and over all."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.contract.file.rules import Allowed
from dagster_planexec.contract.outcome import Done
from dagster_planexec.contract.task import Drop
from dagster_planexec.contract.tool import Admission, AdmittedObject
from dagster_planexec.world.delivery.manifest.form import ManifestForm, PartWords, WholeWords
from dagster_planexec.world.ports import ObjectFacts
from tests.support.loading import NOW, TARGET, Loading, invoice_contract

PARTS = ManifestForm("json", PartWords("name", rows="rows", amount="amount"), "files", names="below-prefix")
WHOLE = ManifestForm("json", PartWords("name"), "files", WholeWords(rows="rows", amount="amount"), "below-prefix")
HEADER = "Invoice Id,day,Amount GBP\n"


class Stated(Loading):
    """A load whose delivery has a manifest."""

    manifests: tuple[AdmittedObject, ...] = ()

    @property
    def admission(self) -> Admission:
        return Admission(tuple(self.admitted), {}, {}, manifests=self.manifests)

    def declare(self, form: ManifestForm, stated: dict[str, Any] | None) -> None:
        """The manifest, admitted and kept; None: it never came."""
        drop = Drop("vendor-drops", "vendor/", r"{period}.*\.csv", "vendor", manifest=Manifest(r"{period}\.json", form))
        self.task = replace(self.task, drop=drop, inputs=self.task.inputs)
        if stated is None:
            return
        raw = json.dumps(stated).encode()
        sha256 = hashlib.sha256(raw).hexdigest()
        path = self.ports.roots.landed_path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        facts = ObjectFacts("vendor-drops", "vendor/2026-03.json", len(raw), "m", NOW + timedelta(seconds=1))
        self.manifests = (AdmittedObject(facts, sha256),)


@pytest.fixture
def loading(tmp_path) -> Stated:
    """Two parts are landed; the first has two lines, the second one."""
    made = Stated(tmp_path)
    made.land(HEADER + "1,2026-03-01,0.10\n2,2026-03-02,0.20\n", "vendor/2026-03-a.csv")
    made.land(HEADER + "3,2026-03-03,123456789012345.67\n", "vendor/2026-03-b.csv")
    return made


def of(rows: int, amount: str, name: str = "2026-03-a.csv") -> dict[str, Any]:
    """What is stated of one part."""
    return {"name": name, "rows": rows, "amount": amount}


A, B = of(2, "0.30"), of(1, "123456789012345.67", "2026-03-b.csv")
NAMES = [{"name": "2026-03-a.csv"}, {"name": "2026-03-b.csv"}]


def judged(loading: Stated) -> list[tuple[str, str | None, Any, Any]]:
    """Status, code, want and got of every verdict after the load."""
    done = loading.load()
    assert isinstance(done, Done)
    return [(v.status, v.code, v.expected.value, v.observed.value)
            for v in loading.judge("control_totals_agree", result=done.result)]  # fmt: skip


BAD = "CONTROL_TOTAL_MISMATCH"


@pytest.mark.parametrize(
    ("form", "stated", "ends"),
    [
        (PARTS, {"files": [A, B]}, [None, None, None]),
        (PARTS, {"files": [of(2, "0.3"), B]}, [None, None, None]),
        (PARTS, {"files": [of(2, "0.31"), B]}, [BAD, None, BAD]),
        (PARTS, {"files": [of(3, "0.30"), B]}, [BAD, None, BAD]),
        (PARTS, {"files": [of(1, "0.10"), of(2, "123456789012345.87", "2026-03-b.csv")]}, [BAD, BAD, None]),
        (PARTS, {"files": [A, of(1, "123456789012345.68", "2026-03-b.csv")]}, [None, BAD, BAD]),
        (PARTS, {"files": [A]}, [None, "DROP_INCOMPLETE", BAD]),
        (WHOLE, {"files": NAMES, "rows": 3, "amount": "123456789012345.97"}, [None]),
        (WHOLE, {"files": NAMES, "rows": 3, "amount": "123456789012345.98"}, [BAD]),
        (WHOLE, {"files": NAMES, "rows": 4, "amount": "123456789012345.97"}, [BAD]),
        (WHOLE, {"files": [*NAMES, {"name": "2026-03-c.csv"}], "rows": 3, "amount": 1}, [BAD]),
        (PARTS, {"files": [{"name": "../x.csv"}]}, ["BAD_MANIFEST"] * 3),
        (PARTS, None, ["MISSING_PART"]),
    ],
    ids=["agrees", "written-shorter", "a-cent", "a-row", "closes-over-all-only", "a-cent-beyond-a-float", "not-named",
         "whole-agrees", "whole-a-cent", "whole-a-row", "whole-of-more-parts", "hostile", "never-came"],
)  # fmt: skip
def test_stated_totals_are_found_or_the_gate_is_shut(loading, form, stated, ends):
    """One verdict per part of which something is stated, and one over all; each says want and got."""
    loading.declare(form, stated)
    found = judged(loading)

    assert [code for _, code, _, _ in found] == ends
    assert all((status == "passed") == (code is None) for status, code, _, _ in found)
    assert all(want is not None and got is not None for _, _, want, got in found)


def test_want_and_got_are_in_the_text(loading):
    """Rows and amount, both sides, and of which file."""
    loading.declare(PARTS, {"files": [of(5, "500.00"), B]})
    loading.load()
    first, _, whole = loading.judge("control_totals_agree")

    assert first.text == "'vendor/2026-03-a.csv': the manifest states 5 rows, 500.00; found 2 rows, 0.30"
    assert whole.text.startswith("the table: the manifest states 6 rows, ")
    assert first.expected.source.subject.system == first.observed.source.subject.system == "landing"
    assert first.expected.source.subject != first.observed.source.subject


def test_load_of_one_part_is_compared_with_that_part(loading):
    """Over all is over what this load reads; totals of the whole alone cannot be compared then, and shut the gate."""
    loading.landed.pop()
    loading.declare(PARTS, {"files": [A, B]})
    assert [(status, want) for status, _, want, _ in judged(loading)] == [("passed", "2 rows, 0.30")] * 2

    loading.declare(WHOLE, {"files": NAMES, "rows": 3, "amount": "123456789012345.97"})
    assert [(status, code) for status, code, _, _ in judged(loading)] == [("not-evaluated", BAD)]


def test_rows_that_somebody_removed_from_the_table_are_missed_over_all(loading):
    """The files are as stated; the table is not."""
    loading.declare(PARTS, {"files": [A, B]})
    loading.load()
    loading.sql(f"delete from {TARGET} where id = '2' returning id")

    assert [v.code for v in loading.judge("control_totals_agree")] == [None, None, BAD]


@pytest.mark.parametrize(("stated", "ends"), [("0.60", [None, None]), ("0.10", [BAD, BAD])])
def test_what_may_be_refused_is_stated_too(tmp_path, stated, ends):
    """The table rightly holds less than its file: what is stated of the file is looked for in the file."""
    loading = Stated(tmp_path, invoice_contract(allowed_rejects=Allowed(codes=("NULL_KEY",), at_most=1)))
    loading.land(HEADER + "1,2026-03-01,0.10\n,2026-03-02,0.50\n", "vendor/2026-03-a.csv")
    loading.declare(PARTS, {"files": [of(2, stated)]})

    assert [code for _, code, _, _ in judged(loading)] == ends


def test_nothing_declared_is_not_applicable(loading):
    """By the contract, before anything is seen; also where a manifest is declared that states no totals."""
    assert [v.status for v in loading.judge("control_totals_agree")] == ["not-applicable"]
    loading.declare(ManifestForm("json", PartWords("name"), "files", names="below-prefix"), {"files": NAMES})
    assert [v.status for v in loading.judge("control_totals_agree")] == ["not-applicable"]
