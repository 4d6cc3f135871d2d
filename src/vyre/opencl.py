"""Kernels of PyOpenCL, their local size learned from their launches: `vyre.opencl.tuned`."""

from vyre.adapter.opencl import TunedKernel, UntimedQueueWarning, tuned

__all__ = ["TunedKernel", "UntimedQueueWarning", "tuned"]
