"""Kernels of CuPy, their block learned from their launches: `vyre.cupy.tuned`."""

try:
    from vyre.adapter.cupy.elements import TunedElementwiseKernel
    from vyre.adapter.cupy.raw import TunedRawKernel
    from vyre.adapter.cupy.tuned import tuned
except ModuleNotFoundError as error:
    if error.name != "cupy":
        raise
    raise ModuleNotFoundError(
        'vyre.cupy needs cupy, which is not installed\nFix: pip install "vyre[cupy]"',
        name="cupy",
    ) from None

__all__ = ["TunedElementwiseKernel", "TunedRawKernel", "tuned"]
