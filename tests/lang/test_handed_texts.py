"""Kernels in texts that Python was handed: a command line, standard input, exec."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vyre

TEXT = """\
import vyre
from vyre import In, Out, f32

@vyre.kernel
def twice(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = 2 * x[i]

print(len(twice.program.buffers))
"""
EXECUTED = """\
import vyre
from vyre import In, Out, f32
text = "@vyre.kernel\\ndef twice(x: In[f32], out: Out[f32]):\\n    out[0] = 2 * x[0]"
try:
    exec(text)
except vyre.LanguageError as error:
    print(error)
def twice(x: In[f32], out: Out[f32]):
    out[0] = 3 * x[0]
"""


def python(*arguments: str, given: str | Path = "") -> subprocess.CompletedProcess[str]:
    """Run Python, handed a text by a pipe or a file."""
    if isinstance(given, Path):
        with given.open() as file:
            return _python(*arguments, stdin=file)
    return _python(*arguments, input=given)


def _python(*arguments: str, **handed: Any) -> subprocess.CompletedProcess[str]:  # as run takes it
    sources = str(Path(vyre.__file__).parents[1])
    return subprocess.run(
        [sys.executable, *arguments],
        **handed,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": sources, "PATH": ""},
        check=False,
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", TEXT),
        ("-c" + TEXT,),
        ("-W", "ignore", "-c", TEXT, "def twice", "more"),
        ("-c", '"""\f \x1c \u2028"""\n' + TEXT),
    ],
    ids=["apart", "together", "among others", "behind what is no line's end"],
)
def test_a_kernel_of_the_command_line_is_one(arguments):
    found = python(*arguments)

    assert (found.stdout, found.stderr) == ("2\n", "")


def test_another_function_of_the_command_line_is_not_taken_for_one_of_exec():
    found = python("-c", EXECUTED)

    assert found.stderr == ""
    assert found.stdout == (
        "the source of kernel 'twice' (<string>) is not available\n"
        "Fix: write it in a file or a notebook cell, or put its text into linecache.cache\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a file that is open has no name")
@pytest.mark.parametrize("arguments", [(), ("-",)], ids=["alone", "asked for"])
def test_a_kernel_of_a_file_on_standard_input_is_one(tmp_path: Path, arguments: tuple[str, ...]):
    file = tmp_path / "script.py"
    file.write_text(f"# coding: latin-1\n'ü'\n{TEXT}print(input())\n", "latin-1")
    found = python(*arguments, given=file)

    # Reading it again gives the script nothing to read that it had not.
    assert found.stdout == "2\n"
    assert found.stderr.endswith("EOFError: EOF when reading a line\n")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a file that is open has no name")
def test_a_file_on_standard_input_that_changed_is_not_taken_for_the_script(tmp_path: Path):
    file = tmp_path / "script.py"
    changed = TEXT.replace("2 * x", "3 * x")
    file.write_text(f"open({str(file)!r}, 'w').write({changed!r})\n" + TEXT)

    assert "(<stdin>) is not available" in python(given=file).stderr


def test_a_script_of_standard_input_says_where_to_write_it():
    found = python("-", given=TEXT)

    assert found.stderr.endswith(
        "the source of kernel 'twice' (<stdin>) is not available\n"
        "Fix: save it to a file and run that, or type it in a notebook, in python -c or, from "
        "Python 3.13 on, in the interactive interpreter\n"
    )
