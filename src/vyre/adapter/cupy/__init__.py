"""Kernels of CuPy: their block, learned from the launches that are made anyway."""
