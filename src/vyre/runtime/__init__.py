"""Kernels and their calls: arrays, devices, the compile helper, calls, speculation."""
