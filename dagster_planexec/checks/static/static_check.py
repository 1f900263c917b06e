"""The check before execution that needs no world: every rule, all findings, one pass."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence

from dagster_planexec.checks.static.args.bad_arg_type import bad_arg_type
from dagster_planexec.checks.static.args.missing_arg import missing_arg
from dagster_planexec.checks.static.args.unknown_arg import unknown_arg
from dagster_planexec.checks.static.graph.cycle import cycle
from dagster_planexec.checks.static.graph.dangling_ref import dangling_ref
from dagster_planexec.checks.static.graph.forward_ref import forward_ref
from dagster_planexec.checks.static.graph.ref_type_mismatch import ref_type_mismatch
from dagster_planexec.checks.static.graph.self_ref import self_ref
from dagster_planexec.checks.static.graph.undeclared_ref_dependency import undeclared_ref_dependency
from dagster_planexec.checks.static.graph.unused_step import unused_step
from dagster_planexec.checks.static.lineage.delivery_unread import delivery_unread
from dagster_planexec.checks.static.lineage.input_from_elsewhere import input_from_elsewhere
from dagster_planexec.checks.static.lineage.result_not_judged import result_not_judged
from dagster_planexec.checks.static.policy.budget_exceeded import budget_exceeded
from dagster_planexec.checks.static.policy.cap_above_policy import cap_above_policy
from dagster_planexec.checks.static.policy.claim_unknown import claim_unknown
from dagster_planexec.checks.static.policy.claim_weakens_contract import claim_weakens_contract
from dagster_planexec.checks.static.policy.expectation_unknown import expectation_unknown
from dagster_planexec.checks.static.policy.irreversible_not_last import irreversible_not_last
from dagster_planexec.checks.static.policy.irreversible_without_gate import irreversible_without_gate
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.revision.checkpoint_misplaced import checkpoint_misplaced
from dagster_planexec.checks.static.revision.revision_drops_check import revision_drops_check
from dagster_planexec.checks.static.revision.revision_gains_tool import revision_gains_tool
from dagster_planexec.checks.static.revision.revision_raises_cap import revision_raises_cap
from dagster_planexec.checks.static.rule import MAX_FINDINGS, Rule, StaticFinding, code_of, findings_of
from dagster_planexec.checks.static.scope.missing_deliverable import missing_deliverable
from dagster_planexec.checks.static.scope.nondeterministic_query import nondeterministic_query
from dagster_planexec.checks.static.scope.out_of_scope import out_of_scope
from dagster_planexec.checks.static.scope.perishable_read_late import perishable_read_late
from dagster_planexec.checks.static.scope.undeclared_input import undeclared_input
from dagster_planexec.checks.static.scope.write_conflict import write_conflict
from dagster_planexec.checks.static.shape.bad_id import bad_id
from dagster_planexec.checks.static.shape.duplicate_id import duplicate_id
from dagster_planexec.checks.static.shape.over_planned import over_planned
from dagster_planexec.checks.static.shape.too_many_steps import too_many_steps
from dagster_planexec.checks.static.shape.unknown_tool import unknown_tool
from dagster_planexec.checks.static.shape.vague_step import vague_step
from dagster_planexec.checks.static.structure import OURS, Structure, Writing
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.plan.foreign.plans import ForeignPlan
from dagster_planexec.plan.model import Plan
from dagster_planexec.world.period import Period

NAMES: tuple[Rule[Structure], ...] = (
    # Names first: what follows is only as good as the names it is said with.
    unknown_tool,
    bad_id,
    duplicate_id,
)
PARTS: tuple[Rule[Structure], ...] = (
    # Then whether each step stands by itself.
    missing_arg,
    unknown_arg,
    bad_arg_type,
    # Then how the steps hang together: existence, direction, order, type.
    dangling_ref,
    self_ref,
    forward_ref,
    cycle,
    undeclared_ref_dependency,  # after cycle: adding a dependency must not close one
    ref_type_mismatch,
)
STRUCTURAL = (*NAMES, *PARTS)
"""The rules that ask nothing of a task: they hold for plans that others wrote, too."""

RULES: tuple[Rule[Proposal], ...] = (
    too_many_steps,  # a plan out of all measure is best told so first
    *NAMES,
    vague_step,  # before the types: prose is usually also of a wrong type
    *PARTS,
    # Then what the task opens to a plan and asks of it.
    out_of_scope,
    undeclared_input,
    nondeterministic_query,
    write_conflict,
    missing_deliverable,
    # Then that what is paid is what was judged, and what was judged is what was delivered: in the order of the work.
    input_from_elsewhere,
    delivery_unread,  # after the inputs: a file is read only if the step that loads it fills one
    result_not_judged,
    # Then what must never happen, or only behind its gates.
    irreversible_not_last,
    irreversible_without_gate,
    cap_above_policy,
    budget_exceeded,
    claim_unknown,
    claim_weakens_contract,
    expectation_unknown,
    # Then that a later plan of an attempt loosens nothing.
    checkpoint_misplaced,
    revision_gains_tool,
    revision_raises_cap,
    revision_drops_check,
    # Warnings last: they reject nothing.
    perishable_read_late,
    unused_step,
    over_planned,
)


def static_check(
    plan: Plan,
    task: Task,
    registry: ToolRegistry,
    *,
    sql_texts: Mapping[str, str] | None = None,
    known_checks: Collection[str] = (),
    period: Period | None = None,
    earlier: Sequence[Plan] = (),
    replans_left: int = 0,
) -> tuple[StaticFinding, ...]:
    """Everything that is wrong with a plan as far as can be told without looking at the world.

    Args:
        plan: Any plan that `parse_plan` lets pass; no plan makes the check raise.
        task: What it is a plan for.
        registry: The tools there are; those the task does not list are not allowed.
        sql_texts: File name to text of the task's SQL folder; None leaves out what needs the texts.
        known_checks: Names a claim may use beside those in tool contracts and in the task's required claims.
        period: The period that was asked for; None accepts every period of the task.
        earlier: The revisions of the same attempt before this plan, oldest first. It may loosen nothing they bound.
        replans_left: How many more plans may be asked for after this one; a checkpoint needs one.

    Returns:
        Findings in the order of `RULES`, each rule's in the order of the plan. Any `error` rejects the plan.
    """
    proposal = Proposal(
        plan, task, registry, sql_texts=sql_texts, known_checks=known_checks, period=period, earlier=earlier,
        replans_left=replans_left,
    )  # fmt: skip
    return tuple(finding for rule in RULES for finding in findings_of(rule, proposal))


def check_structure(plan: Plan, registry: ToolRegistry, *, writing: Writing = OURS) -> tuple[StaticFinding, ...]:
    """What is wrong with a plan by itself and these tools, whatever it is for: the rules of `STRUCTURAL`.

    Args:
        plan: Any plan that `parse_plan` lets pass; no plan makes the check raise.
        registry: The tools a step may use.
        writing: How it was written, if it was imported.

    Returns:
        As `static_check`.
    """
    structure = Structure(plan, registry, writing=writing)
    return tuple(finding for rule in STRUCTURAL for finding in findings_of(rule, structure))


def check_foreign(foreign: ForeignPlan, registry: ToolRegistry) -> tuple[StaticFinding, ...]:
    """What is wrong with a plan that others wrote, in their own words: its form, or else its structure.

    Their form has every step that is referred to among `deps`; it is not enough that these lead to it.
    """
    if foreign.plan is None:
        return tuple(
            StaticFinding(BAD_PLAN, fault.step, fault.field, fault.expected, fault.seen, fault.hint)
            for fault in foreign.faults[:MAX_FINDINGS]
        )
    return check_structure(foreign.plan, registry, writing=Writing(foreign.written, "deps", is_complete=True))


def is_rejected(findings: Iterable[StaticFinding]) -> bool:
    """Whether a plan with these findings may not run: warnings alone reject nothing."""
    return any(finding.severity == "error" for finding in findings)


def message_of(code: str) -> str:
    """The rule behind a code in one sentence, as people and the planner are told it.

    Raises:
        KeyError: No rule has that code.
    """
    return _MESSAGES[code]


BAD_PLAN = "bad-plan"
"""Code of what has not even the form of a plan."""
_MESSAGES = {code_of(rule): inspect.cleandoc(rule.__doc__ or "").splitlines()[0] for rule in RULES} | {
    BAD_PLAN: "A plan that others wrote has the form in which it can be read."
}
