"""Elementary functions in the IR's own operations, so that devices compute the same bits."""

from __future__ import annotations

from vyre.ir.functions.define import ULP, Definition, definition

__all__ = ["ULP", "Definition", "definition"]
