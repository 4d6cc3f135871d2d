"""Kernels as source with macros: a choice for each, and how a configuration is launched."""
