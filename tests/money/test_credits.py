"""Which lines are credited, for how much, and that they are issued once."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_planexec.checks.effect.credits.credits_are_issued import credits_are_issued
from dagster_planexec.checks.effect.credits.not_already_issued import not_already_issued
from dagster_planexec.checks.effect.credits.within_approval_threshold import within_approval_threshold
from dagster_planexec.checks.effect.credits.within_cap import within_cap
from dagster_planexec.checks.effect.evidence_is_unchanged import evidence_is_unchanged
from dagster_planexec.checks.effect.period_may_have_effects import period_may_have_effects
from dagster_planexec.contract.layout import credit_shape, live_view
from dagster_planexec.contract.outcome import Done, Failed, Held
from dagster_planexec.errors import PlanexecError, PortError, RefusedError
from dagster_planexec.tools.issue_credit import IssueCredit, IssueCreditArgs
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Credit, CreditLine
from dagster_planexec.world.probes.result.credits import CreditLines, CreditsIssued, digest_of_lines, fetch_credit_lines
from dagster_planexec.world.probes.table.evidence import FingerprintOfView

RESULT = "recon.lines_202603"
TOOL = IssueCredit()
ARGS = IssueCreditArgs(source=RESULT)
SCOPE = "vendor-credits"


def credit(key, amount, *, ordinal=1, currency="USD"):
    return Credit(SCOPE, "2026-03", key, ordinal, Decimal(amount), currency)


def lines_of(desk):
    with desk.ports.warehouse.session() as session:
        return fetch_credit_lines(session, RESULT, credit_shape(desk.task))


def counted(desk):
    return CreditLines(RESULT, credit_shape(desk.task)).observe(desk.ports)


@pytest.mark.parametrize(
    ("row", "credit"),
    [
        pytest.param(("A", "amount_differs", "12.50", "10.00"), "2.50", id="overcharge"),
        pytest.param(("A", "amount_differs", "10.00", "12.50"), None, id="undercharge"),
        pytest.param(("A", "amount_differs", "-1.00", "-3.00"), "2.00", id="refund-too-small"),
        pytest.param(("A", "ledger_only", "7.25", None), "7.25", id="ledger-only-in-full"),
        pytest.param(("A", "ledger_only", "-7.25", None), None, id="negative-ledger-only"),
        pytest.param(("A", "ledger_only", "0.00", None), None, id="zero-ledger-only"),
        pytest.param(("A", "vendor_only", None, "7.25"), None, id="vendor-only"),
        pytest.param(("A", "identical", "7.25", "7.25"), None, id="identical"),
        pytest.param(("A", "identical", "9.00", "7.25"), None, id="called-identical"),
    ],
)
def test_credit_rule(desk, row, credit):
    """The tool's rule and the check's SQL credit the same lines with the same amounts."""
    desk.put([row])

    expected = [] if credit is None else [CreditLine("A", Decimal(credit))]
    seen = counted(desk)

    assert expected == lines_of(desk)
    assert (len(expected), Decimal(credit or 0)) == (seen["count"], seen["amount"])


AMOUNTS = st.none() | st.decimals("-50", "50", places=2)
ROWS = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=6),
    st.tuples(st.sampled_from(["identical", "amount_differs", "ledger_only", "vendor_only"]), AMOUNTS, AMOUNTS),
    max_size=6,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_two_readings_agree_on_any_result(desk, rows):
    """Count, sum and digest of the SQL aggregate are those of the fetched lines, whatever is in a key."""
    desk.put([(key, status, ledger, vendor) for key, (status, ledger, vendor) in rows.items()])
    seen = counted(desk)
    unsound = any(seen[fact] for fact in ("keyless", "repeated", "unpriced", "inexact"))
    try:
        lines = lines_of(desk)
    except PortError:
        assert unsound
        return

    assert not unsound
    amount = sum((line.amount for line in lines), Decimal(0))
    digest = digest_of_lines(((line.key, line.amount) for line in lines), 2)
    assert (len(lines), amount, digest) == (seen["count"], seen["amount"], seen["digest"])


def test_two_readings_trim_the_same_characters(desk):
    """Whatever blank or invisible character stands at the ends of a key, SQL and Python take it off or leave it."""
    letters = [chr(code) for code in range(1, 0x10000) if unicodedata.category(chr(code)) in {"Zs", "Zl", "Zp", "Cc"}]
    desk.put([(f"{letter}k{number}{letter}", "ledger_only", "1.00", None) for number, letter in enumerate(letters)])

    assert digest_of_lines(((line.key, line.amount) for line in lines_of(desk)), 2) == counted(desk)["digest"]


@pytest.mark.parametrize(
    ("rows", "amount_type", "code"),
    [
        pytest.param([(None, "ledger_only", "1.00", None)], "decimal(18, 2)", "NULL_KEY", id="null-key"),
        pytest.param([("  ", "ledger_only", "1.00", None)], "decimal(18, 2)", "NULL_KEY", id="blank-key"),
        pytest.param([("A", "ledger_only", "1.00", None), (" A", "ledger_only", "2.00", None)], "decimal(18, 2)",
                     "DUPLICATE_KEY", id="same-key-after-trim"),
        pytest.param([("A", "amount_differs", "1.00", None)], "decimal(18, 2)", "IDENTITY_BROKEN", id="no-amount"),
        pytest.param([("A", "ledger_only", "1.005", None)], "decimal(18, 4)", "SCALE_OVERFLOW", id="half-a-cent"),
        pytest.param([("A", "amount_differs", "0.3", "0.1")], "double", "SCHEMA_DRIFT", id="float"),
    ],
)  # fmt: skip
def test_unsound_line_is_never_credited(desk, rows, amount_type, code):
    """A line without key or amount, with another's key, or with parts of a cent shuts the gate and stops the tool."""
    desk.put(rows, amount_type=amount_type)

    (verdict,) = desk.verdicts(within_cap, desk.scope(TOOL, ARGS))
    assert (False, code) == (verdict.opens, verdict.code)
    outcome = desk.issue(ARGS, seen=False)
    assert isinstance(outcome, Failed)
    assert outcome.code == code
    assert desk.ports.credits.issued(SCOPE, "2026-03") == {}


def test_keys_of_several_columns_do_not_run_together(desk):
    """`a|b, c` and `a, b|c` are two line keys, in both readings."""
    desk.sql("create schema recon")
    desk.sql(
        f"create table {RESULT} as select * from"
        " (values ('a|b', 'c', 1.00), ('a', 'b|c', 2.00)) t(k1, k2, ledger_amount),"
        " (select 'ledger_only' as status, null::decimal(18, 2) as vendor_amount)"
    )
    shape = replace(credit_shape(desk.task), key=("k1", "k2"))
    with desk.ports.warehouse.session() as session:
        lines = fetch_credit_lines(session, RESULT, shape)
    seen = CreditLines(RESULT, shape).observe(desk.ports)

    assert [CreditLine("a\\|b|c", Decimal("1.00")), CreditLine("a|b\\|c", Decimal("2.00"))] == lines
    assert digest_of_lines([(line.key, line.amount) for line in lines], 2) == seen["digest"]


@pytest.mark.parametrize(
    ("amount", "plan_cap", "status"),
    [
        pytest.param("500.00", None, "passed", id="at-the-cap"),
        pytest.param("500.01", None, "failed", id="one-cent-over"),
        pytest.param("100.00", "100.00", "passed", id="at-the-plan's-cap"),
        pytest.param("100.01", "100.00", "failed", id="one-cent-over-the-plan's-cap"),
        pytest.param("500.01", "900", "failed", id="a-plan-cannot-raise-it"),
    ],
)
def test_cap_is_exact_to_the_cent(desk, amount, plan_cap, status):
    """The sum of the credits may reach the cap and not pass it; the tool holds on its own reading too."""
    desk.put([("A", "ledger_only", amount, None)])
    args = IssueCreditArgs(source=RESULT, cap=plan_cap)

    (verdict,) = desk.verdicts(within_cap, desk.scope(TOOL, args))
    assert (status, None if status == "passed" else "CAP_EXCEEDED") == (verdict.status, verdict.code)
    outcome = desk.issue(args)
    assert isinstance(outcome, Done if status == "passed" else Held)
    assert (1 if status == "passed" else 0) == len(desk.ports.credits.issued(SCOPE, "2026-03"))


@pytest.mark.parametrize("cap", ["-1", "1e9", "NaN", "1.005", "", "\u0665"])
def test_a_cap_that_is_no_sum_of_money_is_refused(cap):
    """A plan's cap is a plain decimal string."""
    with pytest.raises(ValueError, match="cap"):
        IssueCreditArgs(source=RESULT, cap=cap)


@pytest.mark.parametrize(
    ("argument", "claimed", "cap", "by"),
    [
        pytest.param(None, "3.00", "3.00", "claim within_cap.cap", id="claim-below-the-task"),
        pytest.param("4.00", "3.00", "3.00", "claim within_cap.cap", id="claim-below-the-argument"),
        pytest.param("2.00", "3.00", "2.00", "plan", id="argument-below-the-claim"),
        pytest.param(None, "900.00", "500.00", "credit_cap", id="weaker-than-the-task"),
        pytest.param(None, 3, "500.00", "credit_cap", id="no-decimal-string"),
    ],
)
def test_the_lowest_cap_counts_and_says_where_it_is_from(desk, argument, claimed, cap, by):
    """Task, argument and claim may each lower the cap; none of them can raise it."""
    desk.put([("A", "ledger_only", "3.50", None)])
    scope = desk.scope(TOOL, IssueCreditArgs(source=RESULT, cap=argument))

    (verdict,) = desk.verdicts(within_cap, replace(scope, claim_args={"within_cap": {"cap": claimed}}))

    assert verdict.expected.value == Decimal(cap)
    assert by in str(verdict.expected.source)
    assert verdict.code == ("CAP_EXCEEDED" if Decimal(cap) < Decimal("3.50") else None)


@pytest.mark.parametrize(("claimed", "threshold"), [(1, 1), (0, 0), (2, 2), (90, 50), ("1", 50)])
def test_a_claim_lowers_the_threshold(desk, claimed, threshold):
    """The claim's number counts where it is an integer below the task's, and is named as the plan's."""
    desk.put([("A", "ledger_only", "3.00", None), ("B", "ledger_only", "3.00", None)])
    claims = {"within_approval_threshold": {"threshold": claimed}}

    (verdict,) = desk.verdicts(within_approval_threshold, replace(desk.scope(TOOL, ARGS), claim_args=claims))

    assert (verdict.expected.value, verdict.opens) == (threshold, threshold >= 2)
    assert ("claim" in str(verdict.expected.source)) == (threshold < 50)


def test_threshold_counts_lines(with_limits):
    """Two lines pass a threshold of two, three wait for a person, and the tool holds as well."""
    desk = with_limits(credit_lines_threshold=2)
    desk.put([(key, "ledger_only", "1.00", None) for key in "AB"])
    (verdict,) = desk.verdicts(within_approval_threshold, desk.scope(TOOL, ARGS))
    assert verdict.status == "passed"

    desk.put([(key, "ledger_only", "1.00", None) for key in "ABC"])
    (verdict,) = desk.verdicts(within_approval_threshold, desk.scope(TOOL, ARGS))
    assert (verdict.status, verdict.code, verdict.observed.value) == ("failed", "APPROVAL_REQUIRED", 3)
    outcome = desk.issue(ARGS)
    assert isinstance(outcome, Held)
    assert outcome.code == "APPROVAL_REQUIRED"


def test_saturday_run_holds_every_line(desk):
    """61,400 ledger-only lines are counted, exceed cap and threshold, and the cap is named first."""
    desk.sql("create schema recon")
    desk.sql(
        f"create table {RESULT} as select 'L' || i as line_key, 'ledger_only' as status,"
        " 10.00::decimal(18, 2) as ledger_amount, null::decimal(18, 2) as vendor_amount from range(61400) t(i)"
    )
    scope = desk.scope(TOOL, ARGS)
    codes = [desk.verdicts(binder, scope)[0].code for binder in (within_cap, within_approval_threshold)]

    outcome = desk.issue(ARGS)

    assert codes == ["CAP_EXCEEDED", "APPROVAL_REQUIRED"]
    assert isinstance(outcome, Held)
    assert ("CAP_EXCEEDED", 61400, Decimal("614000.00")) == (
        outcome.code, outcome.facts["count"], outcome.facts["amount"],
    )  # fmt: skip
    assert desk.ports.credits.issued(SCOPE, "2026-03") == {}


def test_issued_twice_is_issued_once(desk):
    """A second call issues nothing, and the system holds exactly the lines of the result."""
    desk.put([("A", "amount_differs", "12.50", "10.00"), ("B", "ledger_only", "7.25", None)])
    scope = desk.scope(TOOL, ARGS)

    first, second = desk.issue(ARGS), desk.issue(ARGS)

    assert (first.result.issued_count, first.result.issued_amount, first.result.already_there) == (2, "9.75", 0)
    assert (second.result.issued_count, second.result.issued_amount, second.result.already_there) == (0, "0.00", 2)
    assert {"A": Decimal("2.50"), "B": Decimal("7.25")} == desk.ports.credits.issued(SCOPE, "2026-03")
    assert desk.ports.credits.issued(SCOPE, "2026-04") == {}
    assert desk.verdicts(not_already_issued, scope)[0].status == "passed"
    assert desk.verdicts(credits_are_issued, scope, "post")[0].status == "passed"


@pytest.mark.parametrize(
    ("now", "delta"),
    [
        pytest.param([("A", "ledger_only", "8.00", None)], "+0.75", id="more"),
        pytest.param([("A", "ledger_only", "7.00", None)], "-0.25", id="less"),
        pytest.param([("A", "identical", "7.25", "7.25")], "-7.25", id="no-longer-due"),
        pytest.param([("B", "ledger_only", "7.25", None)], "-7.25", id="another-key"),
    ],
)
def test_another_amount_than_issued_asks(desk, now, delta):
    """A known key with another amount, or no longer due, is EFFECT_DIFFERS and names the delta."""
    desk.put([("A", "ledger_only", "7.25", None)])
    desk.issue(ARGS)

    desk.put(now)
    (verdict,) = desk.verdicts(not_already_issued, desk.scope(TOOL, ARGS))

    assert (verdict.status, verdict.code) == ("failed", "EFFECT_DIFFERS")
    assert delta in verdict.text


def test_other_amount_changes_nothing(desk):
    """The credit system refuses a known key with another amount or currency; under a further ordinal it takes it."""
    api = desk.ports.credits
    api.issue(credit("A", "7.25"))
    for other in (credit("A", "7.26"), credit("A", "7.25", currency="EUR")):
        with pytest.raises(RefusedError) as raised:
            api.issue(other)
        assert raised.value.code == "EFFECT_DIFFERS"

    assert {"A": Decimal("7.25")} == api.issued(SCOPE, "2026-03")
    api.issue(credit("A", "0.01", ordinal=2))
    assert {"A": Decimal("7.26")} == api.issued(SCOPE, "2026-03")
    assert [(1, Decimal("7.25")), (2, Decimal("0.01"))] == [(c.ordinal, c.amount) for c in api.listed(SCOPE, "2026-03")]


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        ("0.00", "BAD_AMOUNT"),
        ("-1.00", "BAD_AMOUNT"),
        ("1.005", "SCALE_OVERFLOW"),
    ],
)
def test_credit_system_takes_positive_cents_only(desk, amount, code):
    """No credit of nothing, of less than nothing, or of parts of a cent."""
    with pytest.raises(RefusedError) as raised:
        desk.ports.credits.issue(credit("A", amount))

    assert code == raised.value.code
    assert desk.ports.credits.issued(SCOPE, "2026-03") == {}


def test_the_same_credit_twice_is_one(desk):
    """Whoever sends it again is not told off: it is there."""
    for _ in range(2):
        desk.ports.credits.issue(credit("A", "1.00"))

    assert desk.ports.credits.issued(SCOPE, "2026-03") == {"A": Decimal("1.00")}


def test_the_table_itself_refuses_a_second_credit(desk):
    """The key is a constraint of the table, not only a habit of the code."""
    desk.ports.credits.issue(credit("A", "1.00"))

    with pytest.raises(PortError, match=r"(?i)constraint"):
        desk.sql("insert into credits.issued select * from credits.issued")


def test_nothing_to_credit_is_done(desk):
    """No credit line: done with 0, no hold, and the credit system is not even asked to write."""
    desk.put([("A", "identical", "1.00", "1.00")])

    outcome = desk.issue(ARGS)

    assert (
        outcome.result.issued_count, outcome.result.issued_amount, outcome.result.currency,
    ) == (0, "0.00", "USD")  # fmt: skip
    assert desk.sql("select 1 from information_schema.tables where table_schema = 'credits'") == []
    assert desk.verdicts(credits_are_issued, desk.scope(TOOL, ARGS), "post")[0].status == "passed"


@pytest.mark.parametrize(
    "tampering",
    [
        "delete from credits.issued where line_key = 'A'",
        "update credits.issued set amount = amount + 0.01 where line_key = 'A'",
        "insert into credits.issued select * replace ('Z' as line_key) from credits.issued limit 1",
        "update credits.issued set line_key = 'C' where line_key = 'A'",
    ],
    ids=["fewer", "other-amount", "more", "other-key"],
)
def test_credits_are_issued_sees_any_difference(desk, tampering):
    """After the call the system holds exactly the lines, or the effect is unknown."""
    desk.put([("A", "ledger_only", "7.25", None), ("B", "ledger_only", "7.25", None)])
    desk.issue(ARGS)
    desk.sql(tampering)

    (verdict,) = desk.verdicts(credits_are_issued, desk.scope(TOOL, ARGS), "post")

    assert (verdict.status, verdict.code) == ("failed", "EFFECT_UNKNOWN")
    assert verdict.expected.source != verdict.observed.source


@pytest.mark.parametrize(
    ("period", "status", "code"),
    [
        ("2026-01", "failed", "EFFECTS_NOT_DUE"),
        ("2026-02", "not-applicable", None),
        ("2026-03", "not-applicable", None),
    ],
)
def test_effects_begin_with_a_period(desk, period, status, code):
    """Credit lines of a period before `effects_from` are nobody's to issue."""
    desk.put([("A", "ledger_only", "7.25", None)])
    desk.period = Period.parse(period, "month")

    (verdict,) = desk.verdicts(period_may_have_effects, desk.scope(TOOL, ARGS))

    assert (status, code) == (verdict.status, verdict.code)


@pytest.mark.parametrize(("amount", "status"), [("7.25", "failed"), (None, "passed")], ids=["a line", "none"])
def test_backfill_pays_nothing_by_itself(desk, amount, status):
    """Credit lines of a period that was asked for with others wait, and say how they are issued; no line, no hold."""
    desk.put([("A", "ledger_only", amount, None)] if amount else [("A", "identical", "7.25", "7.25")])
    scope = replace(desk.scope(TOOL, ARGS), backfill="bf1")

    (verdict,) = desk.verdicts(period_may_have_effects, scope)

    assert verdict.status == status
    assert (verdict.code == "APPROVAL_REQUIRED") == (status == "failed")
    assert ("part of backfill bf1: 1 credit lines wait; a run of that period alone issues them" in verdict.text) == (
        status == "failed"
    )


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param("select 1", None, id="nothing"),
        pytest.param("insert into ledger.charges values ('N', 1.00, date '2026-04-01')", None, id="another-month"),
        pytest.param(
            "insert into ledger.charges values ('N', 1.00, date '2026-03-31')", "APPROVAL_STALE", id="new-line"
        ),
        pytest.param("update ledger.charges set amount = 9.99 where charge_id = 'A'", "APPROVAL_STALE", id="amount"),
        pytest.param(
            "update ledger.charges set amount = case charge_id when 'A' then 20 else 10 end",
            "APPROVAL_STALE",
            id="swap",
        ),
        pytest.param("drop table ledger.charges", "TABLE_GONE", id="dropped"),
    ],
)
def test_evidence_is_the_live_ledger_of_the_period(desk, change, code):
    """A ledger that changed in scope of the period since admission is not what the credits rest on."""
    desk.sql("create schema ledger")
    desk.sql(
        "create table ledger.charges as select * from (values ('A', 10.00::decimal(18, 2), date '2026-03-01'),"
        " ('B', 20.00, date '2026-03-31')) t(charge_id, amount, charged_on)"
    )
    view = live_view(desk.task, desk.period, "ledger")
    admitted = FingerprintOfView(view).observe(desk.ports)["fingerprint"]
    desk.admission = replace(desk.admission, tables={"ledger": admitted})
    desk.sql(change)

    (verdict,) = desk.verdicts(evidence_is_unchanged, desk.scope(TOOL, ARGS))

    assert code == verdict.code
    assert verdict.opens == (code is None)


def test_evidence_that_was_never_admitted_does_not_pass(desk):
    """Without an admitted fingerprint nothing is unchanged."""
    desk.sql("create schema ledger")
    desk.sql("create table ledger.charges (charge_id varchar, amount decimal(18, 2), charged_on date)")

    (verdict,) = desk.verdicts(evidence_is_unchanged, desk.scope(TOOL, ARGS))

    assert verdict.code == "APPROVAL_STALE"


@pytest.mark.parametrize("binder", [within_cap, within_approval_threshold, not_already_issued])
def test_a_result_that_is_gone_shuts_the_gate(desk, binder):
    """No table, no credit."""
    (verdict,) = desk.verdicts(binder, desk.scope(TOOL, ARGS))

    assert (verdict.status, verdict.code) == ("failed", "TABLE_GONE")
    assert desk.issue(ARGS).code == "TABLE_GONE"


def test_the_seal_is_what_the_system_holds(desk):
    """The seal changes when a credit is added by anybody."""
    desk.put([("A", "ledger_only", "7.25", None)])
    outcome = desk.issue(ARGS)
    seal = TOOL.seal(ARGS, outcome.result, desk.call())
    before = seal.observe(desk.ports).facts

    desk.ports.credits.issue(credit("Z", "1.00"))

    assert CreditsIssued(SCOPE, "2026-03") == seal
    assert before != seal.observe(desk.ports).facts


def test_the_preview_is_the_exact_lines(desk):
    """What a person is shown of a hold is counted and summed by SQL, not said by the tool."""
    desk.put([("A", "ledger_only", "7.25", None)])

    seen = TOOL.preview(ARGS, desk.call()).observe(desk.ports)

    assert (seen["count"], seen["amount"]) == (1, Decimal("7.25"))


@pytest.mark.parametrize(
    "says",
    [{"currency": "EUR"}, {"currency": None, "currencies": {"USD": 2, "EUR": 2}, "currency_column": "charge_id"}],
)
def test_a_query_credits_amounts_of_the_task_s_currency_only(desk, says):
    """Its result does not say which currency an amount is of: an overcharge in euros would be paid in dollars."""
    (side, *_), contracts = desk.task.sides, dict(desk.task.contracts)
    declared = contracts[side.contract].model_dump() | says
    contracts[side.contract] = type(contracts[side.contract]).model_validate(declared)

    with pytest.raises(PlanexecError, match="credits USD, and the amounts of side") as refused:
        replace(desk.task, contracts=contracts)
    assert refused.value.code == "BAD_CONTRACT"
