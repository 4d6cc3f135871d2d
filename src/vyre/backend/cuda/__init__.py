"""NVIDIA GPUs through CUDA's driver: cubins by NVRTC, streams, polled events, memory."""

from vyre.backend.cuda.device import Cuda
from vyre.backend.cuda.discover import found

__all__ = ["Cuda", "found"]
