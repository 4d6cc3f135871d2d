"""Kernels and their calls: binding, deciding, launching, tuning."""
