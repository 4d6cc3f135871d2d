"""Compilers get a folder they can write to, and a clear word where it is not the wanted one."""

import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

import vyre
from vyre import In, Out, f32
from vyre.backend import scratch
from vyre.errors import DeviceFailed, UnsupportedFeature

Usage = namedtuple("Usage", "total used free")

CALL = """
import numpy as np, vyre
from vyre import kernels
x = np.ones(1000, np.float32)
print(vyre.open().name, kernels.saxpy(x, x, a=2.0)[0], kernels.gelu(x).size)
"""


@pytest.fixture
def nowhere(tmp_path):
    """A folder that cannot be made, not even by root."""
    (tmp_path / "file").write_text("in the way")
    return tmp_path / "file" / "cache"


@pytest.fixture
def tiny(tmp_path):
    """A disk of 64 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs a disk of its own")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S607  # as above


def child(**variables: str) -> subprocess.CompletedProcess:
    kept = {k: v for k, v in os.environ.items() if k not in ("POCL_CACHE_DIR", "PYOPENCL_NO_CACHE")}
    return subprocess.run(
        [sys.executable, "-c", CALL],
        env={**kept, "VYRE_AUTOTUNER": "off", "VYRE_DEVICE": "opencl", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_folder_that_can_be_written_is_used_and_nothing_is_left_in_it(tmp_path):
    folder = tmp_path / "new" / "pocl"

    assert scratch.for_compilers(folder) == folder
    assert list(folder.iterdir()) == []


def test_what_keeps_compilers_out_of_a_folder_is_said(tmp_path, nowhere, monkeypatch):
    assert scratch.why_not(Path("relative")) == "there is no home folder"
    assert scratch.why_not(nowhere) == "Not a directory"
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda _: Usage(9, 8, 1000))
    assert scratch.why_not(tmp_path) == "1,000 bytes are free there, 16,777,216 are needed"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_write_permission_is_not_used(tmp_path):
    tmp_path.chmod(0o500)

    assert scratch.why_not(tmp_path) == "Permission denied"


def test_a_folder_that_others_can_write_is_not_used(tmp_path, caplog):
    tmp_path.chmod(0o777)

    folder = scratch.for_compilers(tmp_path)

    assert folder not in (None, tmp_path)
    assert f"compilers cannot use {tmp_path}: others can write there; " in caplog.text
    scratch._remove(folder, os.getpid())


def test_a_temporary_folder_serves_instead_and_the_log_says_so(nowhere, caplog):
    folder = scratch.for_compilers(nowhere)

    assert folder.is_dir()
    assert [record.getMessage() for record in caplog.records] == [
        f"compilers cannot use {nowhere}: Not a directory; they work in {folder} until this "
        "process ends\n"
        "Fix: make room and give write permission there, or set VYRE_CACHE_DIR to another folder"
    ]
    scratch._remove(folder, os.getpid() + 1)  # a forked copy that ends
    assert folder.is_dir()
    scratch._remove(folder, os.getpid())
    assert not folder.exists()


@pytest.mark.usefixtures("opencl")
def test_kernels_run_on_opencl_where_the_cache_folder_cannot_be_written(nowhere):
    done = child(VYRE_CACHE_DIR=str(nowhere), XDG_CACHE_HOME=str(nowhere))

    assert done.stdout == "opencl:0 3.0 1000\n", done.stderr
    said = (
        f"{nowhere} and {nowhere / 'vyre'} cannot be written, or not by this user alone; "
        "compiled kernels are not kept\n"
        "Fix: set VYRE_CACHE_DIR or XDG_CACHE_HOME to a folder of your own\n"
    )
    assert done.stderr.count(said) == 1


@pytest.mark.usefixtures("opencl")
def test_kernels_run_on_opencl_where_the_disk_is_full(tiny):
    """LLVM would end the process."""
    done = child(VYRE_CACHE_DIR=str(tiny), XDG_CACHE_HOME=str(tiny))

    assert done.stdout == "opencl:0 3.0 1000\n", done.stderr
    assert done.stderr.count("compilers cannot use ") == 1


def test_a_disk_that_fills_up_later_is_an_error_and_not_the_end(opencl, monkeypatch, tmp_path):
    @vyre.kernel
    def fresh(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = 17.0 * x[i]

    monkeypatch.setattr(opencl.backend, "_folder", tmp_path)
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda _: Usage(9, 8, 1000))

    with pytest.raises(DeviceFailed) as caught:
        fresh(opencl.zeros(4, "f4"))

    assert str(caught.value) == (
        f"{opencl.info.model} cannot compile in {tmp_path}: "
        "1,000 bytes are free there, 4,194,304 are needed\n"
        "Fix: make room there, or set POCL_CACHE_DIR to another folder"
    )


def test_without_any_folder_it_is_not_said_that_opencl_is_missing(monkeypatch, nowhere):
    pytest.importorskip("pyopencl")
    from vyre.backend import opencl

    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    monkeypatch.setattr(scratch, "_temporary", lambda: None)
    monkeypatch.setattr(opencl.cl, "get_platforms", list)

    with pytest.raises(UnsupportedFeature) as caught:
        opencl.found(nowhere)

    assert str(caught.value) == (
        'backend "opencl" has no folder to compile in: neither the cache folder nor a temporary '
        "one can be written\n"
        "Fix: make room and give write permission there, or set VYRE_CACHE_DIR to another folder"
    )


def test_a_driver_that_does_not_start_hides_no_other(monkeypatch):
    pytest.importorskip("pyopencl")
    from vyre.backend import opencl

    class Broken:
        def get_devices(self):
            raise opencl.cl.LogicError("DEVICE_NOT_FOUND")

    real = opencl.cl.get_platforms()
    monkeypatch.setattr(opencl.cl, "get_platforms", lambda: [Broken(), *real])

    assert list(opencl._devices()) == [d for platform in real for d in platform.get_devices()]
