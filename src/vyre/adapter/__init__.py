"""Kernels written elsewhere: Triton, CuPy, Numba, PyOpenCL, source with macros, any function."""
