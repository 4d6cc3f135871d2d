"""Objects kept on disk: whole, bound to everything they were made from, and never needed."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from vyre.backend.base import Unbuilt
from vyre.backend.cpu import compiler, objects
from vyre.backend.cpu.objects import Host, Objects
from vyre.backend.cpu.target import Target

from .conftest import ADD_ONE


@pytest.fixture
def kept(tmp_path):
    return Objects(tmp_path / "kept")


@pytest.fixture
def compiled(monkeypatch):
    """The texts that were compiled."""
    seen = []
    real = compiler.compile

    def counted(text, *rest):
        seen.append(text)
        return real(text, *rest)

    monkeypatch.setattr(compiler, "compile", counted)
    return seen


def works(address, call):
    counts = np.zeros(5, np.int32)
    call(address, counts, 1, 4)
    return list(counts) == [0, 1, 1, 1, 0]


def test_what_was_compiled_once_is_read_the_next_time(kept, host, compiled, call):
    (first,) = kept.load(ADD_ONE, ["add_one"], host)
    (second,) = Objects(kept.folder).load(ADD_ONE, ["add_one"], host)

    assert compiled == [ADD_ONE]
    assert works(first, call)
    assert works(second, call)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda _: b"",
        lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        lambda data: data[:32] + bytes(len(data) - 32),
    ],
)
def test_a_damaged_object_is_compiled_anew(kept, host, compiled, call, damage):
    kept.load(ADD_ONE, ["add_one"], host)
    (file,) = kept.folder.glob("*.o")
    file.write_bytes(damage(file.read_bytes()))

    (address,) = kept.load(ADD_ONE, ["add_one"], host)

    assert compiled == [ADD_ONE, ADD_ONE]
    assert works(address, call)


def test_an_object_under_the_right_name_that_cannot_be_loaded_is_compiled_anew(
    kept, host, compiled, call
):
    made = compiler.compile(ADD_ONE, Target.of("x86-64-v2"))
    objects.Binaries(kept.folder).put(objects.name_of(ADD_ONE, host, compiler.LEVEL), made[:64])

    (address,) = kept.load(ADD_ONE, ["add_one"], host)

    assert compiled == [ADD_ONE, ADD_ONE]
    assert works(address, call)


def test_a_file_of_another_text_in_its_place_is_compiled_anew(kept, host, compiled, call):
    other = ADD_ONE.replace("%old, 1", "%old, 2")
    kept.load(other, ["add_one"], host)
    (file,) = kept.folder.glob("*.o")
    file.rename(kept.folder / objects.name_of(ADD_ONE, host, compiler.LEVEL))

    (address,) = kept.load(ADD_ONE, ["add_one"], host)

    assert compiled == [other, ADD_ONE]
    assert works(address, call)


def test_a_name_is_bound_to_all_that_decides_the_code(host, monkeypatch):
    target = host.target
    named = {
        objects.name_of(text, of, level)
        for text in ("a", "b")
        for level in (1, 2)
        for of in (
            host,
            replace(host, llvm="1.0"),
            Host(replace(target, triple="x"), host.llvm),
            Host(replace(target, cpu="x"), host.llvm),
            Host(replace(target, features="x"), host.llvm),
        )
    }
    monkeypatch.setattr(objects, "llvmlite", lambda: "0.0")

    assert len(named) == 20
    assert objects.name_of("a", host, 1) not in named


@pytest.mark.parametrize("folder", ["none", "read-only", "a file", "relative"])
def test_without_a_folder_to_write_everything_is_compiled(tmp_path, host, compiled, call, folder):
    file = tmp_path / "file"
    file.write_text("")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    places = {
        "none": None,
        "read-only": closed / "x",
        "a file": file / "x",
        "relative": file.parent,
    }
    place = places[folder] if folder != "relative" else type(file)("here")
    if folder == "read-only" and os.geteuid() == 0:
        pytest.skip("root writes anywhere")

    for _ in range(2):
        (address,) = Objects(place).load(ADD_ONE, ["add_one"], host)
        assert works(address, call)

    assert compiled == [ADD_ONE, ADD_ONE]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")  # noqa: PTH110  # of a condition
def test_a_full_disk_keeps_nothing_and_says_nothing(kept, host, call, monkeypatch):
    real = os.open

    def full(path, flags, *rest):
        return real("/dev/full" if flags & os.O_CREAT else path, flags & ~os.O_EXCL, *rest)

    monkeypatch.setattr(os, "open", full)
    (address,) = kept.load(ADD_ONE, ["add_one"], host)

    assert works(address, call)
    assert list(kept.folder.iterdir()) == []


def test_what_llvm_refuses_is_kept_by_nobody(kept, host):
    assert isinstance(kept.load("nonsense", ["f"], host), Unbuilt)
    assert not kept.folder.exists() or list(kept.folder.iterdir()) == []


def test_the_host_is_asked_of_llvm_once(kept, monkeypatch):
    first = kept.host()
    monkeypatch.setattr(compiler, "host", lambda: pytest.fail("asked again"))

    assert kept.host() == first


def test_the_host_is_asked_anew_on_another_processor(kept, monkeypatch):
    kept.host()
    other = Target.of("x86-64-v2")
    monkeypatch.setattr(objects, "processor", lambda: "another")
    monkeypatch.setattr(compiler, "host", lambda: other)

    assert kept.host().target == other


def test_a_processor_is_told_by_what_does_not_change(monkeypatch):
    info = "processor\t: 0\nmodel name\t: A\nflags\t\t: fpu avx2\ncpu MHz\t\t: {}\n"
    monkeypatch.setattr(objects.machine, "cpuinfo", lambda: info.format(1000))
    before = objects.processor()
    monkeypatch.setattr(objects.machine, "cpuinfo", lambda: info.format(2000))
    same = objects.processor()
    monkeypatch.setattr(objects.machine, "cpuinfo", lambda: info.replace("avx2", "avx"))

    assert before == same != objects.processor()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"target": {}, "llvm": ""}', b"\xff"])
def test_a_note_on_the_host_that_is_not_ours_is_written_anew(kept, body):
    found = kept.host()
    (file,) = kept.folder.glob("*.json")
    objects.Binaries(kept.folder).put(file.name, body)

    assert kept.host() == found


def test_a_process_that_finds_everything_loads_no_llvm(kept, host):
    """Where objects are ELF of x86-64: elsewhere LLVM has to load them."""
    if not objects.loader.own_loader_serves(host.target):
        pytest.skip("objects of this machine are LLVM's to load")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from vyre.backend.cpu.objects import Objects\n"
        "from vyre.backend.cpu import pool\n"
        "kept = Objects(Path(sys.argv[1]))\n"
        "host = kept.host()\n"
        "made = pool.opened(kept, host, 2, cores=2)\n"
        "(task,) = kept.load(sys.stdin.read(), ['add_one'], host)\n"
        "print(any(name.startswith('llvmlite') for name in sys.modules))\n"
    )

    said = [
        subprocess.run(
            [sys.executable, "-c", code, str(kept.folder)],
            input=ADD_ONE, capture_output=True, text=True, check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip

    assert said == ["True\n", "False\n"]
