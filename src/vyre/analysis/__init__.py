"""What can be proved of a program: launch independence, memory access, cost."""

from vyre.analysis.facts import Facts, analyse

__all__ = ["Facts", "analyse"]
