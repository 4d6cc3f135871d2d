"""Triton's autotuner, learning from launches that are made anyway: `vyre.triton.autotune`."""

try:
    import triton  # noqa: F401  # so that it is named where it is not there

    from vyre.adapter.triton.autotune import Config, Tuner, autotune, heuristics
except ModuleNotFoundError as error:
    if error.name != "triton":
        raise
    raise ModuleNotFoundError(
        'vyre.triton needs triton, which is not installed\nFix: pip install "vyre[triton]"',
        name="triton",
    ) from None

__all__ = ["Config", "Tuner", "autotune", "heuristics"]
