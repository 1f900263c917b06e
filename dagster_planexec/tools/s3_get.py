"""`s3.get`: fetch one admitted object into the landing. What lands has the admitted bytes, or nothing lands."""

from __future__ import annotations

import errno
import os
import tempfile
import time
from pathlib import Path
from typing import Annotated

from pydantic import Field

from dagster_planexec.checks.fetch.admitted import landed_look
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import AdmittedObject, LandedDigest, Model, Tool, ToolCall, ToolContract
from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.witness import WitnessedStream, witnessed_open
from dagster_planexec.world.probes.delivery.landed import HashLanded

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_UNWRITABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class S3GetArgs(Model):
    """Which object."""

    bucket: Annotated[str, Field(min_length=3, max_length=63, pattern=r"^[a-z0-9][a-z0-9.-]*[a-z0-9]$")]
    key: Annotated[str, Field(min_length=1, max_length=1024)]


class S3GetResult(Model):
    """The landed copy."""

    landed: LandedDigest
    bytes: int
    key: str


S3_GET = ToolContract(
    name="s3.get",
    description="Fetch one object of the drop into the landing and name its landed copy.",
    args=S3GetArgs,
    result=S3GetResult,
    effect="read",
    # Is it there, is there anything in it, is it the same, is it all: in the order in which a person would ask.
    preconditions=("object_exists", "object_is_non_empty", "object_is_unchanged", "drop_is_complete"),
    # A copy that differs from the wire is broken here; one that differs from the admission is another delivery.
    postconditions=("landed_is_intact", "object_is_unchanged"),
    errors={
        "OBJECT_GONE": "the object was deleted since it was admitted; ask the vendor to deliver it again",
        "OBJECT_CHANGED": "the object was replaced since it was admitted; run the month again to admit the new one",
        "TRUNCATED_STREAM": "fewer bytes came than the store announced; ask the vendor to deliver the file again",
        "TOO_LARGE": "ask the vendor what the file is; if it is rightly as long, raise `max_bytes` in its contract",
        "BUCKET_GONE": "check the bucket's name, the endpoint and the region",
        "AUTH_FAILED": "check the S3 credentials in the environment of the worker",
        "FORBIDDEN": "allow s3:GetObject on the object",
        "OBJECT_ARCHIVED": "restore the object from its archive, then run the month again",
        "THROTTLED": "wait, then run the month again",
        "UNAVAILABLE": "check that the S3 endpoint is up, then run the month again",
        "TIMEOUT": "look at the S3 endpoint; a larger file needs a longer deadline",
        "DISK_FULL": "free space where the landing lies, then run the month again",
        "HOME_UNWRITABLE": "make the landing writable, or choose another home",
        "VALIDATION_ERROR": "name an object of the drop, as it was admitted",
    },
    deadline_s=300.0,
    writes=None,
    perishable=True,
)


class S3Get(Tool):
    """Streams to quarantine, hashes on the way, and moves into the landing only what was admitted."""

    contract = S3_GET

    def call(self, args: S3GetArgs, call: ToolCall) -> Outcome:
        """Fetch, or take the landed copy that the admission says stands for an expired object."""
        admitted = call.admission.object(args.bucket, args.key)
        if admitted is None:
            return Failed("VALIDATION_ERROR", f"{_name(args)} was not admitted with the drop of {call.period}")
        try:
            if admitted.from_landing:
                return _take_landed(args, admitted, call)
            return _fetch(args, admitted, call)
        except OSError as error:
            code = (
                "DISK_FULL" if error.errno in _NO_SPACE else "HOME_UNWRITABLE" if error.errno in _UNWRITABLE else None
            )
            if code is None:
                raise
            return Failed(code, f"the landing cannot take {_name(args)}: {error.strerror}")

    def seal(self, args: S3GetArgs, result: S3GetResult, call: ToolCall) -> HashLanded:
        """The landed copy, hashed again."""
        path = call.ports.roots.landed_path(result.landed)
        return landed_look(path, result.landed, args.key, call.task)


def _take_landed(args: S3GetArgs, admitted: AdmittedObject, call: ToolCall) -> Outcome:
    """The copy of an earlier attempt of this period. The store is not asked: there is nothing left to ask for."""
    seen = HashLanded(call.ports.roots.landed_path(admitted.sha256), admitted.sha256).observe(call.ports)
    if seen.state == "absent":
        return Failed("OBJECT_GONE", f"{_name(args)} is gone from the drop, and so is its landed copy")
    if seen["sha256"] != admitted.sha256:
        text = f"the landed copy of {_name(args)} has sha256 {seen['sha256']}; admitted was {admitted.sha256}"
        return Failed("OBJECT_CHANGED", text)
    return Done(S3GetResult(landed=admitted.sha256, bytes=admitted.facts.size, key=args.key))


def _fetch(args: S3GetArgs, admitted: AdmittedObject, call: ToolCall) -> Outcome:
    """Read the object at its admitted ETag; where it has another by now, only its bytes can say whether it changed."""
    deadline = time.monotonic() + call.deadline_s
    quarantine = call.ports.roots.quarantine
    quarantine.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=quarantine, prefix=f"{admitted.sha256[:12]}-")
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as file, _open(args, admitted, call) as stream:
            for chunk in stream:
                file.write(chunk)
                if time.monotonic() > deadline:
                    text = (
                        f"reading {_name(args)} passed its deadline of {call.deadline_s:g} s after {file.tell()} bytes"
                    )
                    return Failed("TIMEOUT", text)
            file.flush()
            os.fsync(file.fileno())
            size, etag = file.tell(), stream.facts.etag
        sha256 = str(call.witnessed[-1]["sha256"])
        if sha256 != admitted.sha256:
            text = (
                f"{_name(args)} changed: admitted were etag {admitted.facts.etag}, sha256 {admitted.sha256}; "
                f"read were etag {etag}, sha256 {sha256}"
            )
            return Failed("OBJECT_CHANGED", text, {"admitted_sha256": admitted.sha256, "sha256": sha256})
        call.require_wanted("landing")
        _land(path, call.ports.roots.landed_path(sha256))
        return Done(S3GetResult(landed=sha256, bytes=size, key=args.key))
    finally:
        path.unlink(missing_ok=True)  # still there only if it did not land


def _open(args: S3GetArgs, admitted: AdmittedObject, call: ToolCall) -> WitnessedStream:
    try:
        return witnessed_open(call.ports, args.bucket, args.key, call.witnessed, if_match=admitted.facts.etag)
    except PortError as error:
        if error.code != "OBJECT_CHANGED":
            raise
    return witnessed_open(call.ports, args.bucket, args.key, call.witnessed)


def _land(path: Path, target: Path) -> None:
    """Move a whole, synced file to its name. A copy that is there already has these bytes, or is broken and heals."""
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _name(args: S3GetArgs) -> str:
    return repr(f"{args.bucket}/{args.key}"[:200])
