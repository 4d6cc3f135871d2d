"""Triton's autotuner, learning from launches that are made anyway: `vyre.triton.autotune`."""

try:
    import triton  # noqa: F401  # so that it is named where it is not there

    from vyre.adapter.triton.autotune import Config, Tuner, autotune, heuristics
except ImportError as error:
    if not (error.name or "").startswith("triton"):
        raise
    if error.name == "triton":
        problem = "vyre.triton needs triton, which is not installed"
    else:
        problem = f"vyre.triton needs triton 3.6 or later, and here it says: {error.msg}"
    raise type(error)(f'{problem}\nFix: pip install "vyre[triton]"', name=error.name) from None

__all__ = ["Config", "Tuner", "autotune", "heuristics"]
