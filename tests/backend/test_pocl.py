"""A PoCL whose compiler does not know the processor is left out, with a word and a Fix."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from vyre import kernels
from vyre.analysis import analyse
from vyre.backend import pocl, scratch
from vyre.backend.base import Job, Unusable
from vyre.errors import DeviceFailed
from vyre.model import Code
from vyre.runtime.devices.device import Device

cl = pytest.importorskip("pyopencl")

from vyre.backend import opencl  # noqa: E402  # not before pyopencl is known to be there

GENERIC = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic"
KNOWN = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512"
OF_ANOTHER = "OpenCL 3.0 (Build 0)"
REFUSAL = (
    "clBuildProgram failed: BUILD_PROGRAM_FAILURE\n\n"
    "Build on <pyopencl.Device 'pthread-AMD EPYC'>:\n\n"
    "error: unknown target CPU 'generic'\n"
    "Device pthread-AMD EPYC failed to build the program"
)
LEFT_OUT = "pthread-AMD EPYC is left out, because PoCL 3.0-rc2 cannot compile for this processor: "
NEWER = (
    "install a newer PoCL, such as your system's own (apt install pocl-opencl-icd on Debian and "
    'Ubuntu), or use the device "cpu", which needs none'
)


@dataclass(eq=False)
class Listed:
    """A device as a driver lists it, and what its compiler says; nothing where it builds."""

    version: str = GENERIC
    said: str = REFUSAL
    type: int = cl.device_type.CPU
    name: str = "pthread-AMD EPYC"
    driver_version: str = "3.0-rc2"
    platform: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(version="OpenCL 3.0 PoCL 3.0-rc2, LLVM 14.0.6")
    )
    host_unified_memory: int = 1
    max_work_item_sizes: tuple[int, ...] = (4096, 4096, 4096)
    max_work_group_size: int = 4096
    max_mem_alloc_size: int = 1 << 30
    local_mem_size: int = 1 << 18
    max_compute_units: int = 2
    global_mem_size: int = 1 << 32


@pytest.fixture
def driver(monkeypatch):
    """A driver that lists these devices, and the texts that it was given to build."""
    built = []

    class Program:
        def __init__(self, device, text):
            self.device, self.text = device, text

        def build(self, options):
            assert options == "-cl-fp32-correctly-rounded-divide-sqrt"
            built.append(self.text)
            if self.device.said:
                raise cl.RuntimeError(self.device.said)
            return self

    def lists(*devices):
        monkeypatch.setenv("POCL_CACHE_DIR", "")
        platform = SimpleNamespace(get_devices=lambda: devices)
        monkeypatch.setattr(cl, "get_platforms", lambda: [platform])
        monkeypatch.setattr(cl, "Context", lambda listed: listed[0])
        monkeypatch.setattr(cl, "CommandQueue", lambda *_, **__: None)
        monkeypatch.setattr(cl, "Program", Program)
        return built

    return lists


def models(listed) -> list[str]:
    return [one.info.model for one in listed]


def test_a_device_whose_compiler_does_not_know_the_processor_is_left_out(driver, tmp_path):
    driver(Listed())

    assert opencl.found(tmp_path) == [
        Unusable(problem=LEFT_OUT + "unknown target CPU 'generic'", fix=NEWER)
    ]


@pytest.mark.parametrize("first", [True, False])
def test_where_another_driver_serves_the_processor_it_is_named_as_the_fix(driver, tmp_path, first):
    other = Listed(version=KNOWN, said="", name="pthread-skylake-avx512-AMD EPYC")
    driver(*((other, Listed()) if first else (Listed(), other)))

    listed = opencl.found(tmp_path)

    usable, unusable = listed if first else reversed(listed)
    assert models([usable]) == ["pthread-skylake-avx512-AMD EPYC"]
    assert unusable == Unusable(
        problem=LEFT_OUT + "unknown target CPU 'generic'",
        fix="use the other OpenCL device of this processor",
    )


def test_a_gpu_is_no_other_device_of_the_processor(driver, tmp_path):
    driver(Listed(), Listed(version=OF_ANOTHER, type=cl.device_type.GPU, name="Acme G1"))

    unusable, usable = opencl.found(tmp_path)

    assert models([usable]) == ["Acme G1"]
    assert unusable.fix == NEWER


def test_whatever_else_a_compiler_says_is_quoted(driver, tmp_path):
    driver(Listed(said="x\nfatal error:  no kernel library \nDevice failed"), Listed(said="no"))

    assert [one.problem for one in opencl.found(tmp_path)] == [
        LEFT_OUT + "no kernel library",
        LEFT_OUT + "it does not say why",
    ]


@pytest.mark.parametrize("version", [KNOWN, OF_ANOTHER, "OpenCL 1.2 Acme x86-generic"])
def test_no_other_device_is_tried(driver, tmp_path, version):
    built = driver(Listed(version=version))

    assert models(opencl.found(tmp_path)) == ["pthread-AMD EPYC"]
    assert built == []


def test_that_one_could_be_built_is_remembered(driver, tmp_path):
    built = driver(Listed(said=""))

    assert models(opencl.found(tmp_path)) == models(opencl.found(tmp_path)) == ["pthread-AMD EPYC"]
    assert len(built) == 1


def test_of_another_driver_or_processor_nothing_is_remembered(driver, tmp_path):
    others = (
        {"driver_version": "3.0"},
        {"name": "pthread-Acme"},
        {"version": GENERIC.replace("x86_64", "aarch64")},
        {"platform": SimpleNamespace(version="OpenCL 3.0 PoCL 3.0-rc2, LLVM 15.0.6")},
    )
    driver(Listed(said=""))
    opencl.found(tmp_path)

    for other in others:
        driver(Listed(**other))
        (unusable,) = opencl.found(tmp_path)
        assert isinstance(unusable, Unusable), other


def test_that_the_processor_is_refused_is_remembered(driver, tmp_path):
    built = driver(Listed())

    assert opencl.found(tmp_path) == opencl.found(tmp_path)
    assert len(built) == 1


def test_any_other_refusal_may_be_mended_by_the_next_time(driver, tmp_path):
    built = driver(Listed(said="error: unknown argument: '-march=native'"))
    opencl.found(tmp_path)
    driver(Listed(said=""))

    assert models(opencl.found(tmp_path)) == ["pthread-AMD EPYC"]
    assert len(built) == 2


def test_without_a_folder_that_is_ones_own_it_is_found_out_each_time(driver):
    built = driver(Listed(said=""))

    assert models(opencl.found(None)) == models(opencl.found(None)) == ["pthread-AMD EPYC"]
    assert len(built) == 2


def test_where_there_is_no_room_nothing_is_built_and_the_device_stays(
    driver, tmp_path, monkeypatch
):
    built = driver(Listed())
    monkeypatch.setattr(scratch, "too_full", lambda *_: "1,000 bytes are free there")
    monkeypatch.setattr(scratch, "for_compilers", lambda wanted: wanted)

    assert models(opencl.found(tmp_path)) == ["pthread-AMD EPYC"]
    assert built == []


def test_a_driver_that_does_not_open_the_device_tells_nothing_of_its_compiler(
    driver, tmp_path, monkeypatch
):
    driver(Listed())

    def refuse(_):
        raise cl.MemoryError("clCreateContext failed: OUT_OF_HOST_MEMORY")

    monkeypatch.setattr(cl, "Context", refuse)

    assert models(opencl.found(tmp_path)) == ["pthread-AMD EPYC"]


def test_a_kernel_that_is_refused_for_the_processors_sake_says_what_helps(driver, tmp_path):
    driver(Listed(version=KNOWN))
    (backend,) = opencl.found(tmp_path)

    with pytest.raises(DeviceFailed) as caught:
        Device("opencl:0", backend).binary(kernels.saxpy.program, Code())

    assert str(caught.value) == (
        f"pthread-AMD EPYC could not build the kernel:\n{REFUSAL}\nFix: {NEWER}"
    )


def test_a_kernel_that_is_refused_for_its_own_sake_does_not(driver, tmp_path):
    driver(Listed(version=KNOWN, said="error: expected expression"))
    (backend,) = opencl.found(tmp_path)
    program = kernels.saxpy.program

    (unbuilt,) = backend.build([Job(program, Code(), analyse(program))])

    assert (unbuilt.log, unbuilt.fix) == ("error: expected expression", "")


def test_a_real_driver_that_builds_is_kept_however_doubtful(monkeypatch, tmp_path, request):
    device = request.getfixturevalue("opencl").backend._device
    monkeypatch.setattr(pocl, "is_doubtful", lambda _: True)

    for _ in range(2):  # built, and remembered
        assert opencl.OpenCL(device, opencl.Binaries(tmp_path / "opencl")).refusal() is None
    assert len(list((tmp_path / "opencl").iterdir())) == 1
