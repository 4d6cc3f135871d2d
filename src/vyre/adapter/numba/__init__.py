"""Kernels of Numba's: their block, learned from the launches that are made anyway."""
