"""The only door to a device: reference, opencl, cuda, webgpu, replay."""
