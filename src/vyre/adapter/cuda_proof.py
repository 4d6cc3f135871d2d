"""Whether a kernel in CUDA C++ that another library compiles is proved free of its block size.

It is compiled once more, to PTX, by the same compiler with the same options; where that cannot be
had, nothing is proved.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence

from vyre.adapter.ptx.free import why_not
from vyre.adapter.reading.cuda_text import HARMLESS, OLD_STANDARD
from vyre.adapter.reading.hidden import hiding_option, misread_in_source
from vyre.adapter.reading.sources import bare
from vyre.backend.base import Unbuilt

_TOLD_APART = re.compile(
    r"__(?:\w*FILE\w*|DATE__|TIME\w*|has_include\w*|has_embed|INCLUDE_LEVEL__|CUDACC_DEBUG__"
    r"|CUDA_ARCH_[A-Z]\w*)|\bsource_location\b|\?\?[=/]"
)
"""By which a source would find out that it is compiled once more, elsewhere and to PTX."""

_PASTES = re.compile(r"##|%:%:")
_BEGINNINGS = frozenset(
    name[:length]
    for name in (
        *("__FILE__", "__BASE_FILE__", "__builtin_FILE", "__DATE__", "__TIME__", "__has_include"),
        *("__has_embed", "__INCLUDE_LEVEL__", "__CUDACC_DEBUG__", "__CUDA_ARCH_"),
    )
    for length in range(1, len(name) + 1)
)
"""Names of which a source that puts names together could make one of those."""

_INCLUDED = re.compile(r"(?:#|%:)\s*(?:include|include_next|import|embed)\b([^\n]*)")
_ELSEWHERE = "/a folder that is not there/vyre.cu"
"""CuPy compiles in a folder of its own, in which no header is; this process's may have some."""

_FOR_A_DEVICE = re.compile(r"--?(?:gpu-)?arch")
_FOLDER = re.compile(r"\s*(?:-I|--include-path)")


def lacks(
    source: str,
    name: str,
    asked: Sequence[str],
    options: Sequence[str],
    capability: str,
    version: str,
    *,
    steps: bool,
) -> str | None:
    """Why it is not proved that each thread of a kernel does the same under every block.

    None where it is.

    Args:
        source: of all its module.
        name: the kernel's, as its library asks for it.
        asked: the options that its author gave.
        options: all that its library gives NVRTC, those among them, without an architecture.
        capability: of the device, such as `90`.
        version: of the NVRTC that its library has, such as `13.4`.
        steps: whether the number of threads in the grid stays.
    """
    if "\0" in source:
        return "its source has a NUL in it"
    plain = bare(source)
    whole = "\n".join((plain, *options))
    told = _TOLD_APART.search(whole)
    if told is not None:
        return f"its source says {told[0]}"
    old = any(map(OLD_STANDARD.search, options))
    misread = misread_in_source(source, separated=not old)
    if misread is not None:
        return f"its source has {misread}, which may hide anything"
    if _PASTES.search(whole):
        for part in re.findall(r"\b_\w*", whole):
            if part in _BEGINNINGS:
                return f"its source puts names together, and says {part}"
    for one in options:
        if _FOR_A_DEVICE.match(one):
            return f"its option {one} says for what device"
    hiding = hiding_option(options)
    if hiding is not None:
        return f"its option {hiding} may hide anything"
    included = [one.strip() for one in _INCLUDED.findall(plain)]
    if not all(map(HARMLESS.fullmatch, included)):
        return "its source includes a file that may be another one by now"
    for one in asked if included else ():
        if _FOLDER.match(one):
            return f"its option {one} says where its headers are, which may be others by now"
    try:
        compiler = importlib.import_module("vyre.backend.cuda.nvrtc")  # where it is installed
        ours = compiler.version()
    except (ImportError, RuntimeError):
        return 'NVRTC is not there; pip install "vyre[cuda]"'
    if ours != version:
        return f"its library compiles with NVRTC {version}, and Vyre has {ours}"
    try:
        given = (*options, f"-arch=compute_{capability}")
        made = compiler.ptx(source, given, _ELSEWHERE)
    except UnicodeEncodeError:
        return "its source cannot be written as UTF-8"
    return made.reason if isinstance(made, Unbuilt) else why_not(made, name, steps=steps)
