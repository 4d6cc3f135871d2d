"""Kernels of Numba's, their block learned from their launches: `vyre.numba.tuned`."""

from contextlib import suppress
from importlib import import_module, metadata

_NUMPY = 2, 5
"""From here on NumPy lacks `row_stack`, without which numba-cuda 0.30 compiles nothing."""


def _ails() -> str | None:
    """What keeps Numba, which is installed, from compiling for CUDA; None where nothing does."""
    try:
        numba = import_module("numba")
        import_module("numba.cuda")
        if not numba.config.ENABLE_CUDASIM:
            import_module("numba.cuda.np.arrayobj")  # as its first compilation does: 13 ms
    except ModuleNotFoundError:  # an older one has its parts elsewhere
        return None
    except (AttributeError, ImportError) as error:
        return str(error)
    return None


def _unfit(said: str) -> ImportError:
    found = {}
    for name in ("numba-cuda", "numba", "numpy"):
        with suppress(metadata.PackageNotFoundError):  # an older Numba has what is for CUDA itself
            found[name] = metadata.version(name)
    listed = ", ".join(f"{name} {version}" for name, version in found.items())
    numpy = tuple(map(int, found["numpy"].split(".")[:2]))
    fix = 'pip install "numpy<2.5"' if numpy >= _NUMPY else 'pip install --upgrade "vyre[numba]"'
    return ImportError(
        f"vyre.numba cannot use what is installed, {listed}: {said}\nFix: {fix}", name="numba.cuda"
    )


try:
    from vyre.adapter.numba.kernel import Configured, ForAll, HostArraysWarning, TunedKernel
    from vyre.adapter.numba.tuned import tuned
except ModuleNotFoundError as error:
    if error.name not in ("numba", "numba.cuda"):
        raise
    raise ModuleNotFoundError(
        'vyre.numba needs numba-cuda, which is not installed\nFix: pip install "vyre[numba]"',
        name=error.name,
    ) from None
except (AttributeError, ImportError) as error:
    ailing = _ails()
    if ailing is None:  # it is ours
        raise
    raise _unfit(ailing) from error
if (_ailing := _ails()) is not None:
    raise _unfit(_ailing)

__all__ = ["Configured", "ForAll", "HostArraysWarning", "TunedKernel", "tuned"]
