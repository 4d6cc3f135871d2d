"""The only door to a device: the reference on NumPy, OpenCL, CUDA."""
