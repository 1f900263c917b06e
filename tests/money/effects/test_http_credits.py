"""The credit API over HTTP, against a small real server that does everything wrong that one can."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

from dagster_planexec.contract.outcome import Done, Held
from dagster_planexec.errors import PlanexecError, PortError, RefusedError
from dagster_planexec.resources.http_credits import HttpCredits, HttpCreditsResource
from dagster_planexec.tools.issue_credit import IssueCreditArgs
from dagster_planexec.world.ports import Credit
from tests.support.credit_server import PAGE, TOKEN, CreditServer
from tests.support.odd_credits import rows

ARGS = IssueCreditArgs(source="recon.lines_202603")
SCOPE = "vendor-credits"
A = Credit(SCOPE, "2026-03", "A", 1, Decimal("1.00"), "USD")


@pytest.fixture
def server(tmp_path) -> Iterator[CreditServer]:
    made = CreditServer(tmp_path / "credits.sqlite")
    yield made
    made.close()


@pytest.fixture
def api(server) -> HttpCredits:
    return HttpCredits(server.url, TOKEN, answer_s=0.5)


@pytest.fixture
def shop(desk, api):
    """A desk whose credits go to the server."""
    desk.ports = replace(desk.ports, credits=api)
    return desk


def test_a_credit_is_issued_listed_and_found(server, api):
    """Under its idempotency key, to the cent."""
    assert api.find(A) is None
    api.issue(A)
    api.issue(A)

    assert api.find(A) == A
    assert api.listed(SCOPE, "2026-03") == [A]
    assert api.listed(SCOPE, "2026-04") == []
    assert server.keys == [A.idempotency_key] * 2
    assert server.posts[0] == {
        "scope": SCOPE, "period": "2026-03", "line_key": "A", "ordinal": 1, "amount": "1.00", "currency": "USD",
    }  # fmt: skip


def test_a_list_of_several_pages_is_read_whole(server, api):
    """Page by page, and sorted."""
    made = [replace(A, key=f"L{i:04d}") for i in range(2 * PAGE + 5)]
    for credit in made:
        server.put(credit)

    assert api.listed(SCOPE, "2026-03") == made


def test_what_is_pending_is_not_issued_yet_and_not_absent(server, api):
    """A look-up cannot say; a list leaves it out."""
    server.put(A, "pending")

    assert api.listed(SCOPE, "2026-03") == []
    with pytest.raises(PortError, match="still at work") as raised:
        api.find(A)
    assert not isinstance(raised.value, RefusedError)


@pytest.mark.parametrize(
    ("fault", "code"),
    [("401", "AUTH_FAILED"), ("403", "FORBIDDEN"), ("422", "VALIDATION_ERROR"), ("429", "THROTTLED")],
)
def test_a_refusal_is_known_to_have_done_nothing(server, api, fault, code):
    """Each with the code that says what to do."""
    server.faults[1] = fault
    with pytest.raises(RefusedError) as raised:
        api.issue(A)

    assert raised.value.code == code
    assert (raised.value.retry_after_s == 1.0) == (fault == "429")
    assert server.held() == []


@pytest.mark.parametrize("fault", ["500", "503", "500-after-commit", "never", "late", "garbage", "huge", "drop",
                                   "pending", "redirect"])  # fmt: skip
def test_after_any_other_answer_nobody_knows(server, api, fault):
    """So it is no refusal."""
    server.faults[1] = fault
    with pytest.raises(PortError) as raised:
        api.issue(A)

    assert not isinstance(raised.value, RefusedError)
    assert TOKEN not in str(raised.value)


def test_a_server_that_is_not_there_was_sent_nothing(server):
    """No connection, no credit."""
    server.close()
    with pytest.raises(RefusedError, match="nothing was sent") as raised:
        HttpCredits(server.url, TOKEN).issue(A)
    assert raised.value.code == "UNAVAILABLE"


def test_a_404_of_somebody_else_says_nothing(server, api):
    """A proxy, or a wrong path: only `not_found` in the answer's own words means that it is not there."""
    other = HttpCredits(server.url.replace("/v1", "/v1/credits/x"), TOKEN)
    server.get = lambda to: __import__("tests.support.credit_server", fromlist=["answer"]).answer(to, 404, {})
    with pytest.raises(PortError):
        other.find(A)


def test_another_amount_under_a_known_key_is_refused(server, api):
    """409, with what is held."""
    server.put(replace(A, amount=Decimal("12.00")))
    with pytest.raises(RefusedError, match=r"12\.00") as raised:
        api.issue(A)
    assert raised.value.code == "EFFECT_DIFFERS"


@pytest.mark.parametrize(
    "url", ["ftp://x/y", "https://user:pw@host/v1", "https://host/v1?token=x", "host", "https://host/v1#x", ""]
)
def test_an_url_that_hides_something_is_refused(url):
    """User, query and fragment would end in logs."""
    with pytest.raises(PlanexecError, match="url") as raised:
        HttpCredits(url)
    assert "pw" not in str(raised.value)


def test_the_token_is_in_no_log_and_no_words(server, api, caplog):
    """Neither ours nor the client's, at any level."""
    caplog.set_level(logging.DEBUG)
    server.faults[2] = "401"
    api.issue(A)
    with pytest.raises(RefusedError) as raised:
        api.issue(replace(A, key="B"))

    assert TOKEN not in caplog.text + repr(api) + str(raised.value) + api.target


def test_the_resource_reads_address_and_token_from_the_environment(server, monkeypatch):
    """Neither is ever in a run's configuration."""
    import dagster as dg

    from dagster_planexec.compiler.binding import port_of

    monkeypatch.setenv("CREDITS_URL", server.url)
    monkeypatch.setenv("CREDITS_TOKEN", TOKEN)
    made = HttpCreditsResource(url=dg.EnvVar("CREDITS_URL"), token=dg.EnvVar("CREDITS_TOKEN"), name="shop")
    port = port_of("credits", made)

    assert port.target == "shop"
    port.issue(A)
    assert port.issued(SCOPE, "2026-03") == {"A": Decimal("1.00")}


# -- the same, carried out -------------------------------------------------------------------------------------------


def settled(desk, server, *, tries=4):
    """Run the month again until it is done; how often that was."""
    for run in range(1, tries + 1):
        outcome = desk.issue(ARGS)
        if isinstance(outcome, Done):
            return run
    raise AssertionError(outcome)


@pytest.mark.parametrize(
    ("fault", "runs"),
    [
        ("late", 1), ("twice", 1), ("500-after-commit", 1), ("garbage", 1), ("huge", 1), ("drop", 1), ("429", 1),
        ("never", 2), ("500", 2), ("503", 2), ("redirect", 2), ("401", 2), ("422", 2),
    ],
)  # fmt: skip
def test_each_line_is_issued_once_whatever_the_api_does(shop, server, fault, runs):
    """What was done is found; what was not is sent by the next run; nobody has to settle anything."""
    server.faults[2] = fault
    shop.put(rows(A="1.00", B="2.00", C="3.00"))

    assert settled(shop, server) == runs
    assert server.held() == [("A", 1, Decimal("1.00")), ("B", 1, Decimal("2.00")), ("C", 1, Decimal("3.00"))]
    assert {state for _, _, _, state in shop.effects()} == {"issued"}


def test_what_is_still_at_work_is_waited_for_and_then_looked_up_by_the_next_run(shop, server):
    """202 is no answer; a later look finds it, and it is never sent a second time."""
    server.faults[1] = "pending"
    shop.put(rows(A="1.00"))
    first = shop.issue(ARGS)
    second = shop.issue(ARGS)
    server.put(A)
    third = shop.issue(ARGS)

    assert (first.code, second.code) == ("EFFECT_UNKNOWN", "EFFECT_UNKNOWN")
    assert isinstance(third, Done)
    assert len(server.posts) == 1


def test_an_api_that_is_down_issues_nothing_and_says_so(shop, server):
    """The list cannot be had: nothing is begun."""
    server.down = True
    shop.put(rows(A="1.00"))
    outcome, unknown = shop.carried(ARGS)

    assert (outcome.code, unknown, server.posts, shop.effects()) == ("UNAVAILABLE", False, [], [])


def test_a_raised_line_is_topped_up_when_people_have_released_it(shop, server):
    """12.00 to 13.00: 1.00 under its own key; neither 0 nor 25."""
    shop.put(rows(A="12.00"))
    shop.issue(ARGS)
    shop.put(rows(A="13.00"))
    assert isinstance(shop.issue(ARGS), Held)
    assert len(server.posts) == 1
    assert isinstance(shop.issue(ARGS, released=["EFFECT_DIFFERS"]), Done)

    assert server.held() == [("A", 1, Decimal("12.00")), ("A", 2, Decimal("1.00"))]
    assert len(set(server.keys)) == 2


def test_the_token_is_not_in_the_ledger(shop, server, tmp_path):
    """Not even if the API says it back."""
    server.faults[1] = "500-after-commit"
    shop.put(rows(A="1.00"))
    shop.issue(ARGS)
    shop.journal.close()

    found = [file.name for file in tmp_path.iterdir() if file.is_file() and TOKEN.encode() in file.read_bytes()]
    assert found == []
