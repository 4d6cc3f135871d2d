"""Workgroups whose lanes work together."""

from vyre.emit.llvm.group.task import MOST_LANES, groups

__all__ = ["MOST_LANES", "groups"]
