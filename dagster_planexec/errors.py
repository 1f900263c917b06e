"""The errors a programmer or an operator can meet. Everything a run can meet is a value, not an exception."""

from __future__ import annotations


class PlanexecError(Exception):
    """Something cannot be done; says what, why, and the next thing to do.

    Args:
        code: A stable string of `dagster_planexec.contract.codes`, e.g. `BUCKET_GONE`.
        message: What is wrong, what was expected and what was seen, in one sentence.
        hint: The next thing to do, as a command or a sentence.
    """

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments are lost by the default pickling of exceptions, which crosses processes.
        return (_rebuild, (type(self), self.code, self.message, self.hint))

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f"\nhint: {self.hint}" if self.hint else "")


def _rebuild(kind: type[PlanexecError], code: str, message: str, hint: str) -> PlanexecError:
    return kind(code, message, hint=hint)


class PortError(PlanexecError):
    """A part of the world answered with an error, or did not answer. Tools let it pass; the harness reads its code.

    Args:
        code: As of `PlanexecError`.
        message: As of `PlanexecError`.
        hint: As of `PlanexecError`.
        retry_after_s: Seconds after which the service asked to be called again; None if it said nothing.
    """

    def __init__(self, code: str, message: str, *, hint: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(code, message, hint=hint)
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_of_port, (type(self), self.code, self.message, self.hint, self.retry_after_s))


def _rebuild_of_port(kind: type[PortError], code: str, message: str, hint: str, after: float | None) -> PortError:
    return kind(code, message, hint=hint, retry_after_s=after)


class RefusedError(PortError):
    """A system refused before it did anything: whoever asked knows that nothing happened.

    After any other error of a call that cannot be undone, it may have happened all the same, and is looked up.
    """


class IndependenceError(PlanexecError):
    """A check was built whose two sides come from one source. It would agree with itself for ever."""

    def __init__(self, check: str, message: str) -> None:
        super().__init__(
            "INTERNAL",
            f"check {check!r} {message}",
            hint="observe the world with another reader or of another subject; see ARCHITECTURE.md, 'Independence'",
        )
        self._args = (check, message)

    def __reduce__(self) -> tuple[object, ...]:
        return (IndependenceError, self._args)
