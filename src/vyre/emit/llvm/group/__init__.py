"""Workgroups whose lanes work together."""

from vyre.emit.llvm.group.task import groups

__all__ = ["groups"]
