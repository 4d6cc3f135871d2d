"""Which CUDA devices there are, and what they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from cuda.bindings import driver as cuda_driver

from vyre.backend.cuda import nvrtc
from vyre.backend.cuda.cache import CubinCache
from vyre.backend.cuda.device import Cuda
from vyre.backend.cuda.nvml import Nvml
from vyre.errors import UnsupportedFeature
from vyre.model import DeviceInfo, DeviceKind, Limits

_MODULE = Path("/proc/driver/nvidia/version")
_VERSION = re.compile(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s")


def found(private: Path | None, driver: Any = cuda_driver, module: Path = _MODULE) -> list[Cuda]:
    """Every CUDA device that this process sees, in the driver's order.

    Args:
        private: a folder for compiled code that nobody else can write, if there is one.
        driver: NVIDIA's, or what stands for it.
        module: where its version is written.

    Raises:
        UnsupportedFeature: there is no driver, no NVRTC, or the driver does not start.
    """
    try:
        (code,) = driver.cuInit(0)
    except RuntimeError:  # what the bindings raise where they find no library
        raise UnsupportedFeature(
            'backend "cuda" needs NVIDIA\'s driver, which is not installed',
            "install it, or use another device",
        ) from None
    if code == driver.CUresult.CUDA_ERROR_NO_DEVICE:
        return []
    if code:
        raise UnsupportedFeature(
            f"NVIDIA's driver does not start: {code.name}",
            "look that code up in CUDA's documentation of CUresult, or use another device",
        )
    try:
        compiler = nvrtc.version()
    except RuntimeError:
        raise UnsupportedFeature(
            'backend "cuda" needs NVRTC, which is not installed', 'pip install "vyre[cuda]"'
        ) from None
    cache = CubinCache(None if private is None else private / "cubin")
    cache.prune()
    _, count = driver.cuDeviceGetCount()
    version = _driver_version(driver, module)
    return [_open(driver, number, cache, version, compiler) for number in range(count)]


def _open(driver: Any, number: int, cache: CubinCache, version: str, compiler: str) -> Cuda:
    names = driver.CUdevice_attribute

    def attribute(name: str) -> int:
        wanted = getattr(names, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(driver.cuDeviceGetAttribute(wanted, number)[1])

    _, name = driver.cuDeviceGetName(256, number)
    _, total = driver.cuDeviceTotalMem(number)
    major, minor = attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")
    info = DeviceInfo(
        backend="cuda",
        model=name.partition(b"\0")[0].decode(errors="replace").strip(),
        driver=version,
        compiler=f"NVRTC {compiler}",
        kind=DeviceKind.GPU,
        limits=Limits(
            max_threads=attribute("MAX_THREADS_PER_BLOCK"),
            max_block=(
                attribute("MAX_BLOCK_DIM_X"),
                attribute("MAX_BLOCK_DIM_Y"),
                attribute("MAX_BLOCK_DIM_Z"),
            ),
            max_grid=(
                attribute("MAX_GRID_DIM_X"),
                attribute("MAX_GRID_DIM_Y"),
                attribute("MAX_GRID_DIM_Z"),
            ),
            max_threads_per_unit=attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
            max_buffer_bytes=int(total),
            group_bytes=attribute("MAX_SHARED_MEMORY_PER_BLOCK"),
            cache_bytes=attribute("L2_CACHE_SIZE"),
            lockstep=attribute("WARP_SIZE"),
        ),
        compute_units=attribute("MULTIPROCESSOR_COUNT"),
        memory_bytes=int(total),
        traits={"capability": f"{major}.{minor}"},
    )
    _, bus_id = driver.cuDeviceGetPCIBusId(32, number)
    return Cuda(
        number,
        info,
        architecture=f"sm_{major}{minor}",
        cache=cache,
        driver=driver,
        nvml=Nvml((bus_id or b"").partition(b"\0")[0].decode(errors="replace")),
    )


def _driver_version(driver: Any, module: Path) -> str:
    """CUDA's version of the driver, and the driver's own where the system tells it."""
    _, version = driver.cuDriverGetVersion()
    cuda = f"CUDA {version // 1000}.{version % 1000 // 10}"
    try:
        told = _VERSION.search(module.read_text(encoding="utf-8"))
    except OSError:
        return cuda
    return f"{told[1]} ({cuda})" if told else cuda
