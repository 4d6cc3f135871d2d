"""Whole functions on the same tensors, the fastest of which is learned: `vyre.torch.choose`."""

try:
    from vyre.adapter.torch import choose
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "vyre.torch needs torch, which is not installed\nFix: pip install torch", name="torch"
    ) from None

__all__ = ["choose"]
