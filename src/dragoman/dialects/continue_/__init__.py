"""Continue's vocabulary (1.5.47): a dozen tools of one or two parameters, in the words its models know."""

from __future__ import annotations

from dragoman.dialects.base.dialect import Dialect, Steer
from dragoman.dialects.base.mcp_names import McpNames
from dragoman.model import operations as op

from .commands import Bash, CheckBackgroundJob
from .editor import READ
from .failures import FAILURES, ContinueUnspelled
from .files import Edit, List, MultiEdit, Read, Write
from .people import AskQuestion, Skills
from .plans import Checklist
from .search import Fetch, Search

DIALECT = Dialect(
    "continue",
    (
        *(Read, Write, List, Bash, Fetch, Checklist, CheckBackgroundJob, AskQuestion, Search, MultiEdit, Edit, Skills),
        *READ,
    ),
    steering=(
        Steer("Exit", "it ends the client itself with a status"),
        Steer(
            "edit_existing_file",
            "what is to become of a file is only sketched; a model of the client's works it in",
            ("filepath", "changes", "new_contents"),
            formerly=("builtin_edit_existing_file",),
        ),
        Steer(
            "read_currently_open_file",
            "which file is open, the editor knows",
            formerly=("builtin_read_currently_open_file",),
        ),
        Steer("view_diff", "what has changed, the editor knows", formerly=("builtin_view_diff",)),
        Steer("view_repo_map", "it is an outline the client makes", formerly=("builtin_view_repo_map",)),
        Steer(
            "view_subdirectory",
            "it is an outline the client makes",
            ("directory_path",),
            formerly=("builtin_view_subdirectory",),
        ),
        Steer("request_rule", "rules are the client's own", ("name",), formerly=("builtin_request_rule",)),
        Steer(
            "create_rule_block",
            "rules are the client's own",
            ("name", "rule", "description", "globs", "regex", "alwaysApply"),
            formerly=("builtin_create_rule_block",),
        ),
    ),
    mcp=(McpNames("{tool}"),),
    failures=FAILURES,
    unspelled=ContinueUnspelled(),
    unspoken={
        op.Delegating: "the client has no other agents",
    },
)
