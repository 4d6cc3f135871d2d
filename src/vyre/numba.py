"""Kernels of Numba's, their block learned from their launches: `vyre.numba.tuned`."""

try:
    from vyre.adapter.numba.kernel import Configured, ForAll, HostArraysWarning, TunedKernel
    from vyre.adapter.numba.tuned import tuned
except ModuleNotFoundError as error:
    if error.name not in ("numba", "numba.cuda"):
        raise
    raise ModuleNotFoundError(
        'vyre.numba needs numba-cuda, which is not installed\nFix: pip install "vyre[numba]"',
        name=error.name,
    ) from None

__all__ = ["Configured", "ForAll", "HostArraysWarning", "TunedKernel", "tuned"]
