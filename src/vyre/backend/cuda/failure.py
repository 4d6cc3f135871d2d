"""What the driver's error codes mean to the reader."""

from __future__ import annotations

from typing import Any

from vyre.errors import DeviceFailed

_LOST = (
    "start a new process, because this one's GPU context is lost; run the program under "
    "compute-sanitizer to find the access"
)
_FIXES = {
    "CUDA_ERROR_OUT_OF_MEMORY": "free device arrays that are no longer needed, or split the call",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "use a smaller workgroup",
    "CUDA_ERROR_INVALID_VALUE": "use a smaller workgroup or grid",
    "CUDA_ERROR_ILLEGAL_ADDRESS": _LOST,
    "CUDA_ERROR_MISALIGNED_ADDRESS": _LOST,
    "CUDA_ERROR_LAUNCH_FAILED": _LOST,
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": _LOST,
    "CUDA_ERROR_LAUNCH_TIMEOUT": "split the call into shorter ones, or use a GPU without a display",
    "CUDA_ERROR_INVALID_HANDLE": "use a stream of this device that has not been destroyed",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": "start a new process; something reset the device",
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": "use the stream that captures, and make arrays before it",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "do this before the capture begins",
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": "end this capture and begin a new one",
}


def failure(model: str, doing: str, code: Any) -> DeviceFailed:
    """The error to raise where the driver answered `code`."""
    fix = _FIXES.get(code.name, "look that code up in CUDA's documentation of CUresult")
    return DeviceFailed(f"{model} failed to {doing}: {code.name}", fix)
