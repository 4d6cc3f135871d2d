"""Kernels as source with macros: a choice for each macro, and how each configuration is launched."""
