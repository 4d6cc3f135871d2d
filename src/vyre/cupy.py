"""Kernels of CuPy, their block learned from their launches: `vyre.cupy.tuned`."""

try:
    from vyre.adapter.cupy import TunedElementwiseKernel, TunedRawKernel, tuned
except ModuleNotFoundError as error:
    if error.name != "cupy":
        raise
    raise ModuleNotFoundError(
        'vyre.cupy needs cupy, which is not installed\nFix: pip install "vyre[cupy]"',
        name="cupy",
    ) from None

__all__ = ["TunedElementwiseKernel", "TunedRawKernel", "tuned"]
