"""Triton's autotuner, which learns from the launches that are made anyway: `vyre.triton.autotune`."""

try:
    from vyre.adapter.triton.autotune import Config, Tuner, autotune, heuristics
except ModuleNotFoundError as error:
    if error.name != "triton":
        raise
    raise ModuleNotFoundError(
        'vyre.triton needs triton, which is not installed\nFix: pip install "vyre[triton]"',
        name="triton",
    ) from None

__all__ = ["Config", "Tuner", "autotune", "heuristics"]
