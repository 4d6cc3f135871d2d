"""Kernels of Triton: which of their configurations runs, learned from their own launches."""
