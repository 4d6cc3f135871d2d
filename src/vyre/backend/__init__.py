"""The only door to a device: the processor through LLVM, OpenCL, CUDA, the reference on NumPy."""
