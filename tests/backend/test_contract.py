"""Every backend keeps the contract."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

import vyre
from vyre.backend.reference.device import Reference
from vyre.backend.replayed import Replayed
from vyre.model import Code
from vyre.testing.backend_contract import F32, BackendContract, adding, job

SPOILED = Code(items=8)


def spoil(monkeypatch, where):
    """Make an emitter write nonsense for one code."""
    emit = where.emit

    def spoiled(program, code, *rest):
        source = emit(program, code, *rest)
        return replace(source, header=(*source.header, "nonsense;")) if code == SPOILED else source

    monkeypatch.setattr(where, "emit", spoiled)
    return job(adding(F32), SPOILED)


class TestReference(BackendContract):
    def make(self, folder):  # noqa: ARG002  # it keeps nothing
        return Reference()


class TestReplayed(BackendContract):
    def make(self, folder):  # noqa: ARG002  # it keeps nothing
        return Replayed(lambda _: 1000.0, refuses={SPOILED: "too many registers"})

    def refused(self, monkeypatch):  # noqa: ARG002  # its table says so
        return job(adding(F32), SPOILED)


class TestCpu(BackendContract):
    @pytest.fixture(autouse=True)
    def _llvm(self):
        pytest.importorskip("llvmlite")

    def make(self, folder):
        from vyre.backend.cpu.device import found

        (made,) = found(folder)
        return made

    def refused(self, monkeypatch):
        from vyre.backend.cpu import device

        emit = device.emit_llvm

        def spoiled(program, code, *rest):
            module = emit(program, code, *rest)
            return replace(module, text=f"{module.text} nonsense") if code.unroll == 8 else module

        monkeypatch.setattr(device, "emit_llvm", spoiled)
        return job(adding(F32), Code(unroll=8))


HAS_OPENCL = any(device.name == "opencl:0" for device in vyre.devices())


@pytest.mark.skipif(not HAS_OPENCL, reason="no OpenCL device is here")
class TestOpenCL(BackendContract):
    def make(self, folder):  # noqa: ARG002  # PoCL has one folder for good
        return vyre.open("opencl").backend

    def refused(self, monkeypatch):
        from vyre.backend import opencl

        return spoil(monkeypatch, opencl)


class TestCudaOnADriverOfHostMemory(BackendContract):
    computes = False

    @pytest.fixture(autouse=True)
    def _driver(self, driver):
        pytest.importorskip("cuda.bindings.nvrtc")
        self.driver = driver

    def make(self, folder):
        from vyre.backend.cuda import found

        (made,) = found(folder, self.driver, folder / "no such file")
        return made

    def refused(self, monkeypatch):
        from vyre.backend.cuda import build

        return spoil(monkeypatch, build)

    def capture(self, backend):  # noqa: ARG002  # the driver knows
        @contextmanager
        def captured():
            self.driver.capturing.add(0x77)
            yield 0x77
            self.driver.capturing.discard(0x77)

        return captured()


HAS_CUDA = any(device.name == "cuda:0" for device in vyre.devices())


@pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device is here")
class TestCuda(BackendContract):
    def make(self, folder):  # noqa: ARG002  # a process has one context
        return vyre.open("cuda").backend

    def refused(self, monkeypatch):
        from vyre.backend.cuda import build

        return spoil(monkeypatch, build)
