"""What error messages say."""

from __future__ import annotations

import pytest

from dragoman.errors import (
    DefinitionError,
    EngineError,
    LimitReached,
    MissingExtra,
    StorageError,
    nearest,
    writing,
)


def test_a_definition_error_lists_every_problem_and_says_where() -> None:
    error = DefinitionError("tool 'f'", ["no description", "parameter x has no type"], "tools.py:3")
    assert str(error) == "tool 'f' is not well defined (tools.py:3):\n  - no description\n  - parameter x has no type"


def test_an_engine_error_says_who_failed_and_whether_to_try_again() -> None:
    error = EngineError(
        "overloaded", provider="anthropic", status=529, request_id="r1", retryable=True, retry_after=2.0
    )
    assert str(error) == "overloaded [anthropic, 529, r1]"
    assert (error.retryable, error.retry_after) == (True, 2.0)


def test_a_missing_extra_names_the_command_that_installs_it() -> None:
    assert "install 'playwright>=" in str(MissingExtra("browser", "taking a screenshot", "playwright"))


def test_a_limit_says_which_and_how_much() -> None:
    assert str(LimitReached("iterations", 20, "raise max_iterations")) == (
        "the limit on iterations (20) was reached; raise max_iterations"
    )


def test_a_file_that_cannot_be_written_is_named_with_the_reason_and_advice() -> None:
    with (
        pytest.raises(StorageError) as raised,
        writing("/some/record", "free some space"),
        open("/dev/full", "wb", 0) as f,
    ):
        f.write(b"x")
    assert str(raised.value) == "cannot write /some/record: No space left on device; free some space"
    assert (raised.value.path, raised.value.reason) == ("/some/record", "No space left on device")


def test_the_nearest_known_name_is_suggested_whatever_its_case() -> None:
    assert nearest("reed_file", ["read_file", "Write"]) == ' Did you mean "read_file"?'
    assert nearest("write", ["read_file", "Write"]) == ' Did you mean "Write"?'
    assert nearest("zzz", ["read_file"]) == ""
