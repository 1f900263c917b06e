"""The stable codes. One code, one meaning; a code is never renamed and never used for something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Group = Literal["fetch", "load", "state", "keys", "report", "transient", "access", "plan", "effect", "attempt", "setup"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a code says, and the next thing to do about it."""

    group: Group
    summary: str
    hint: str
    transient: bool = False
    """Whether the same call, repeated unchanged a little later, may well succeed."""


CODES: dict[str, Meaning] = {
    # fetch
    "OBJECT_GONE": Meaning(
        "fetch",
        "the object is not there when it is read",
        "ask the vendor to deliver it again, or restore an older version; then run the month again",
    ),
    "OBJECT_CHANGED": Meaning(
        "fetch",
        "the object read is not the object that was admitted",
        "run the month again: the new delivery is admitted as a new attempt",
    ),
    "TRUNCATED_STREAM": Meaning(
        "fetch", "a compressed or length-declared stream ends early", "ask the vendor to deliver the file again"
    ),
    "OBJECT_ARCHIVED": Meaning(
        "fetch",
        "the object lies in an archive, from which it cannot be read before it is restored",
        "restore it in the bucket, or ask the vendor to deliver it again; then run the period again",
    ),
    "MISSING_PART": Meaning(
        "fetch",
        "a part named by the manifest is absent, or the manifest itself is",
        "ask the vendor for the missing part; when it comes, the sensor asks for a run",
    ),
    "BAD_MANIFEST": Meaning(
        "fetch",
        "the manifest cannot be read as it is declared, or names what is no part of the drop",
        "ask the vendor for a manifest as it was agreed, or correct `Drop.manifest`",
    ),
    "AMBIGUOUS_LANDING": Meaning(
        "fetch",
        "two landed versions could stand for the absent object",
        "run with the version you mean delivered to the drop",
    ),
    "DROP_INCOMPLETE": Meaning(
        "fetch",
        "an object that matches the drop pattern is not consumed by the plan",
        "look at the unread object; a plan that reads all of the drop is needed",
    ),
    "EXPIRES_TOO_SOON": Meaning(
        "fetch",
        "a lifecycle rule deletes the object before the plan would read it",
        "read it earlier, or lengthen the rule",
    ),
    "FILE_GONE": Meaning(
        "fetch",
        "a file or folder that the task reads is not there",
        "put it back under the task's folder of files; then run the period again",
    ),
    "FILE_CHANGED": Meaning(
        "fetch",
        "a file is not what it was when it was admitted",
        "run the period again: what is there now is admitted as a new attempt",
    ),
    "INPUT_UNREAD": Meaning(
        "fetch",
        "something that belongs to the input is read by no step of the plan",
        "look at what is named; a plan that reads all of it is needed",
    ),
    "TOO_LARGE": Meaning(
        "fetch",
        "a file is longer, once decoded, than its contract allows",
        "ask the vendor what it is; if it is rightly as long, raise `max_bytes` in the file contract, "
        "or have a workbook delivered as text",
    ),
    "BAD_FORMAT": Meaning(
        "fetch",
        "a file does not hold what a file of its name must",
        "look at the place that is named, and have the file made again",
    ),
    "BUCKET_GONE": Meaning("fetch", "the bucket does not exist", "check the bucket's name and the endpoint"),
    # load
    "EMPTY_EXTRACT": Meaning(
        "load",
        "the file has no data rows",
        "ask the vendor for the data; an empty delivery is not a month without charges",
    ),
    "ROWCOUNT_MISMATCH": Meaning(
        "load",
        "rows in the table differ from the data rows counted in the source",
        "run the month again; if it recurs, the loader loses rows",
    ),
    "ROWS_REFUSED": Meaning(
        "load",
        "rows of the delivery were refused, as its contract allows, and money would move on what is left",
        "look at the rejects table; have the vendor correct the rows, or say in the contract how they are written",
    ),
    "CONTROL_TOTAL_MISMATCH": Meaning(
        "load", "a stated count or sum differs from what was found", "ask the vendor which of the two is right"
    ),
    "RAGGED_ROW": Meaning(
        "load",
        "a line has more or fewer fields than the header",
        "look at the line; an unquoted delimiter is the usual cause",
    ),
    "BAD_DATE": Meaning(
        "load",
        "a date cell does not parse by the declared formats",
        "correct the file, or declare its format in the contract",
    ),
    "AMBIGUOUS_DATE": Meaning(
        "load",
        "no date format is declared and the cells can be read in more than one order",
        "declare the date format in the contract",
    ),
    "BAD_AMOUNT": Meaning(
        "load",
        "an amount cell does not parse by the declared style",
        "correct the file, or declare its style in the contract",
    ),
    "SCALE_OVERFLOW": Meaning(
        "load",
        "an amount has more digits than the contract declares, so a cast would change it",
        "declare the scale the file really has",
    ),
    "UNKNOWN_VALUE": Meaning(
        "load",
        "a cell holds none of the values that its contract knows, or text of another length",
        "find out what the value means before anything is added up; then name it in the contract",
    ),
    "BAD_ENCODING": Meaning(
        "load", "bytes do not decode by the declared encoding", "declare the encoding the file really has"
    ),
    "UNKNOWN_COLUMN": Meaning(
        "load",
        "the file has a column that the contract does not know",
        "find out what the column means before anything is added up; then name it in the contract",
    ),
    "MISSING_COLUMN": Meaning(
        "load", "a required column is absent under every alias", "ask the vendor, or add the new header as an alias"
    ),
    # state of the period and of tables
    "STALE_PERIOD": Meaning(
        "state",
        "no row lies in the period asked for, or the bytes equal an earlier period's",
        "ask the vendor for the right month's file",
    ),
    "PERIOD_INCOMPLETE": Meaning(
        "state", "a month or a day of the period has no rows", "ask the vendor for what is missing"
    ),
    "OUT_OF_PERIOD": Meaning(
        "state",
        "rows are dated outside the window that the contract allows around the period",
        "ask the vendor what they are; if they are rightly there, widen `window` in the file contract",
    ),
    "NOT_FINAL": Meaning("state", "the bill is still an estimate", "wait for the final bill"),
    "TABLE_GONE": Meaning(
        "state", "a table that was judged before is absent now", "find out who dropped it, then run the month again"
    ),
    "SCHEMA_DRIFT": Meaning(
        "state", "a table's columns are not those of its contract", "compare the table with the contract"
    ),
    "EXPECTATION_FAILED": Meaning(
        "state", "a statement of the plan about the world does not hold", "look at what was expected and seen"
    ),
    "SUITE_FAILED": Meaning(
        "state",
        "a table is not what its deliverable's expectation suite states, or the suite cannot be asked of it",
        "look at the rows that break it, on the page that is named; correct them at their source, or the suite",
    ),
    "NONDETERMINISTIC": Meaning(
        "state", "the same query gave two different results on the same data", "give the query a total order"
    ),
    # keys and reconciliation
    "NULL_KEY": Meaning("keys", "a key is null or blank", "correct the lines without a key"),
    "DUPLICATE_KEY": Meaning("keys", "a key repeats where it must be unique", "find out which of the lines is right"),
    "MIXED_CURRENCY": Meaning(
        "keys", "amounts of several currencies would be added up", "declare the currency, or split the file"
    ),
    "EMPTY_SIDE": Meaning(
        "keys",
        "a side has no row in scope",
        "find out why the side is empty: every row of the other side would be a discrepancy",
    ),
    "ONE_SIDED": Meaning(
        "keys", "a side has rows but the result does not depend on it", "correct the query: it must compare both sides"
    ),
    "NOTHING_MATCHED": Meaning(
        "keys", "both sides have rows and no key in common", "check that both sides are of the same system and period"
    ),
    "COVERAGE_LOW": Meaning(
        "keys",
        "the matched share of a side, or the volume of a delivery, is below the task's bound",
        "check whether the delivery is complete",
    ),
    "VOLUME_HIGH": Meaning(
        "keys",
        "a delivery has more rows, or amounts to more, than the task's bound",
        "check whether something was delivered twice; if it is rightly as much, raise the bound in `Task.plausible`",
    ),
    "INDETERMINATE_SIDE": Meaning(
        "keys",
        "nothing was found, and no probe shows that the query would have seen a difference",
        "rewrite the query so that a changed amount or a missing key changes its result",
    ),
    "IDENTITY_BROKEN": Meaning(
        "keys",
        "the counts or sums of the result do not add up to those of its inputs",
        "correct the query: every row of both sides must be counted once",
    ),
    # report
    "REPORT_MISMATCH": Meaning(
        "report", "a figure in the written report is not the figure in the result", "run the month again"
    ),
    # transient
    "TIMEOUT": Meaning("transient", "a call passed its deadline", "look at the system that was slow", transient=True),
    "THROTTLED": Meaning("transient", "the service asked to slow down", "wait, then run again", transient=True),
    "UNAVAILABLE": Meaning(
        "transient",
        "the service did not answer, or answered with a server error",
        "wait, then run again",
        transient=True,
    ),
    "LOCKED": Meaning(
        "transient",
        "the warehouse file is held by another process",
        "wait for it, or ask whoever runs the process that is named, before you end it, then run again",
        transient=True,
    ),
    # access
    "AUTH_FAILED": Meaning(
        "access", "the credentials are not accepted", "check the credentials in the environment of the worker"
    ),
    "FORBIDDEN": Meaning("access", "the credentials do not permit this", "ask for the permission that is named"),
    "DISK_FULL": Meaning("access", "there is no space left to write", "free space, then run again"),
    # plan
    "PLAN_REJECTED": Meaning(
        "plan", "the plan breaks a rule", "see the findings; each names the step, the field and a remedy"
    ),
    "VALIDATION_ERROR": Meaning(
        "plan", "an argument is not what the tool takes", "see what the tool expects: `planexec check` lists it"
    ),
    "REPLAN_EXHAUSTED": Meaning("plan", "the cap on new plans is reached", "read the journal of the attempt"),
    "REPLAN_UNCHANGED": Meaning(
        "plan", "the new plan does the same as an earlier one", "read the journal of the attempt"
    ),
    "MODEL_REFUSED": Meaning(
        "plan",
        "the model declines to write the plan, or its service filters the answer",
        "read what it says; correct the goal or the names in the task, or write the plan by hand",
    ),
    "ANSWER_TRUNCATED": Meaning(
        "plan",
        "the model's answer ends before the plan does",
        "allow the planner more output tokens, or the task fewer steps",
    ),
    "ANSWER_EMPTY": Meaning("plan", "the model's service answered without an answer", "run again"),
    "ANSWER_INVALID": Meaning(
        "plan",
        "the model's answer is no plan",
        "give the plan's JSON object and nothing else; a service that answers so does not hold the model to the schema",
    ),
    "REQUEST_REFUSED": Meaning(
        "plan",
        "the model's service does not take the request",
        "see what it says; a model that knows no strict JSON schema cannot be used",
    ),
    # effects
    "EFFECT_UNKNOWN": Meaning(
        "effect",
        "nobody can say whether an irreversible call happened",
        "run the month again: it is looked up first, and never issued twice; if the target cannot say, "
        "`planexec effects settle`",
    ),
    "EFFECT_DIFFERS": Meaning(
        "effect",
        "a credit was issued under this key with another amount, or is no longer due",
        "look at the difference: `planexec show HOLD`",
    ),
    "EFFECTS_NOT_DUE": Meaning(
        "effect",
        "the period is before the first one that may have effects, so nothing irreversible is done for it",
        "nothing, if that is right; else correct effects_from of the task's irreversible deliverable",
    ),
    "APPROVAL_REQUIRED": Meaning(
        "effect",
        "credit lines that may not be issued without a person",
        "look at the held credits: `planexec show HOLD`",
    ),
    "APPROVAL_STALE": Meaning(
        "effect", "what was approved is not what would be done now", "run the month again: it asks anew"
    ),
    "DECISION_REFUSED": Meaning(
        "effect",
        "a decision that does not count: of somebody who may not decide, forged, altered, or of another hold",
        "read what it says; `planexec show HOLD` says who may decide and how",
    ),
    "CAP_EXCEEDED": Meaning(
        "effect", "the credits exceed the task's cap", "look at the held credits: `planexec show HOLD`"
    ),
    "HOLD_EXPIRED": Meaning("effect", "nobody decided in time", "run the month again"),
    "HOLD_REJECTED": Meaning(
        "effect", "a person rejected what waited", "put right what they say is wrong, then run the month again"
    ),
    "HOLD_SUPERSEDED": Meaning(
        "effect", "a later attempt replaced this hold", "look at the later hold: `planexec holds`"
    ),
    # attempt
    "LEASE_BUSY": Meaning("attempt", "another run holds this month", "wait for it"),
    "LEASE_LOST": Meaning("attempt", "another run took this month over", "look at the other run"),
    "CANCELLED": Meaning("attempt", "the run was terminated", "run the month again; finished steps are reused"),
    "BUDGET_EXHAUSTED": Meaning(
        "attempt",
        "the attempt's model calls, tokens, retries or new plans are used up",
        "read the journal of the attempt; the limits are the task's, and a new attempt has its own",
    ),
    "INTERNAL": Meaning(
        "attempt", "something unforeseen happened", "report it with the run's log; nothing after it was run"
    ),
    # set-up
    "UNKNOWN_PARTITION": Meaning(
        "setup", "the partition is not one of the task's", "run `planexec status TASK` to see them"
    ),
    "UNKNOWN_REFERENCE": Meaning(
        "setup", "nothing is remembered under that name", "look at `planexec status TASK`, or choose another --home"
    ),
    "MODEL_UNKNOWN": Meaning(
        "setup", "the model's service has no such model", "correct the model's name, or the address of the service"
    ),
    "BAD_CONTRACT": Meaning("setup", "a file contract does not say what it must", "correct the named field"),
    "HOME_UNWRITABLE": Meaning("setup", "the home folder cannot be written", "choose another with --home"),
    "PORT_IN_USE": Meaning("setup", "the port is taken by another program", "choose another with --port"),
    "AMBIGUOUS_ARCHIVE": Meaning(
        "fetch",
        "an archive holds several data members, or a workbook several sheets, and the contract names none",
        "declare `members` and `ignored_members`, or the `sheet`",
    ),
}


def meaning(code: str) -> Meaning:
    """What a code means; an unknown code means INTERNAL."""
    return CODES.get(code, CODES["INTERNAL"])
