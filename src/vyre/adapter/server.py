"""The inside of the processes that work for adapters: `python -m vyre.adapter.server`.

Each request names a function of ours and what it is given; what it returns is the answer.
"""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from vyre.adapter.failure import Spoiled, words_of
from vyre.errors import VyreError
from vyre.runtime.compile.serving import LAST, Answers, refusal, serve

GREETING = "vyre.adapter"
_OURS = "vyre.adapter."


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """What came of a request, or why nothing did."""
    try:
        return {"ok": True, "done": entry(request["entry"])(request["given"])}
    except Spoiled as error:
        return {**_refused(error.__cause__ or error), **LAST}
    except BaseException as error:  # noqa: BLE001  # others raise anything, and end the process so
        return _refused(error)


def _refused(error: BaseException) -> dict[str, Any]:
    if isinstance(error, VyreError):
        return refusal(error.problem)
    trace = "".join(traceback.format_exception(error, limit=-6))
    return refusal(f"{type(error).__name__}: {words_of(error) or 'without a word'}", trace)


def entry(name: str) -> Callable[..., Any]:
    """The function of ours that `module:function` names."""
    module, _, function = name.partition(":")
    assert module.startswith(_OURS), f"{name} is not ours"
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def _begin() -> tuple[str, Answers]:
    return GREETING, answer


if __name__ == "__main__":
    serve(_begin)
