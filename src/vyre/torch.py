"""Whole functions on the same tensors, the fastest of which is learned: `vyre.torch.choose`."""

from vyre.adapter.torch import choose

__all__ = ["choose"]
