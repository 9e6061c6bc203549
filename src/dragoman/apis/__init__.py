"""How a provider's wire carries calls: pure codecs, no I/O.

`APIS` names them; each is an `Api` (see there for what a codec does). Where a comment says in brackets with which model
and when something was seen, another name there (`rig`, `ruby_llm`, `pydantic-ai`, …) is the public project that
recorded the traffic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door
from dragoman.registry import APIS as APIS

from .base.api import (
    Api as Api,
    Encoded as Encoded,
    Problem as Problem,
    StreamDecoder as StreamDecoder,
    is_too_long as is_too_long,
    page_title as page_title,
    shortened as shortened,
)
from .base.conversation_order import NO_RESULT as NO_RESULT, Remark as Remark
from .base.lowered import Lowering as Lowering
from .base.options import RawTool as RawTool, merged as merged, raw_tools as raw_tools

if TYPE_CHECKING:
    from .base.endpoints import (
        Batch as Batch,
        BatchReplies as BatchReplies,
        Embedded as Embedded,
        Endpoints as Endpoints,
        HttpRequest as HttpRequest,
        Purpose as Purpose,
        Steps as Steps,
        Vector as Vector,
    )
    from .base.message_reader import MessageReader as MessageReader
    from .base.offered_calls import found_tools as found_tools
    from .base.partial import PartialJson as PartialJson
    from .base.serving import Asked as Asked, ServerSide as ServerSide, StreamWriter as StreamWriter, written as written
else:
    # The parts of the door that few open.
    _, __getattr__ = door(
        __name__,
        {
            "base.endpoints": (
                "Batch",
                "BatchReplies",
                "Embedded",
                "Endpoints",
                "HttpRequest",
                "Purpose",
                "Steps",
                "Vector",
            ),
            "base.message_reader": ("MessageReader",),
            "base.offered_calls": ("found_tools",),
            "base.partial": ("PartialJson",),
            "base.serving": ("Asked", "ServerSide", "StreamWriter", "written"),
        },
    )
