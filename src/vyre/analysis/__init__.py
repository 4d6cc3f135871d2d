"""What can be proved of a program: launch independence, uniformity, memory access, cost."""

from vyre.analysis.barriers import check_barriers
from vyre.analysis.facts import Facts, analyse

__all__ = ["Facts", "analyse", "check_barriers"]
