"""What can be proved of a program: launch independence, uniformity, memory access, cost."""

from vyre.analysis.barriers import check_barriers
from vyre.analysis.facts import Facts, analyse
from vyre.analysis.named_workgroups import check_workgroups

__all__ = ["Facts", "analyse", "check_barriers", "check_workgroups"]
