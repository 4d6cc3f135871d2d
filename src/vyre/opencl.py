"""Kernels of PyOpenCL, their local size learned from their launches: `vyre.opencl.tuned`."""

try:
    from vyre.adapter.opencl import TunedKernel, UntimedQueueWarning, tuned
except ModuleNotFoundError as error:
    if error.name != "pyopencl":
        raise
    raise ModuleNotFoundError(
        'vyre.opencl needs pyopencl, which is not installed\nFix: pip install "vyre[opencl]"',
        name="pyopencl",
    ) from None

__all__ = ["TunedKernel", "UntimedQueueWarning", "tuned"]
