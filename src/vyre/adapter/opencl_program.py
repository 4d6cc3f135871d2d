"""What a program of PyOpenCL's says: its source, and whether results depend on the local size."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pyopencl as cl

from vyre.adapter.reading.hidden import defined_by, hidden_in_source, hiding_option
from vyre.adapter.reading.sources import bare
from vyre.plain import shown

_GROUPS = re.compile(
    r"\b(\w*get_local_\w+|get_enqueued_local_size|get_group_id|get_num_groups|\w*barrier|local|__local"
    r"|(?!reqd_)\w*work_group_\w+|\w*sub_?group\w*|\w*_fence|asm|__asm\w*|__builtin_\w+|_\w*(?:local|group)_\w+"
    r"|_Z\w+)\b"
)
"""What makes a result depend on the local size, if anything does."""

_WHOLE = re.compile(r"\bget_global_(?:size|linear_id)\b")
"""What does where the global size goes by the local one."""

_HARMLESS = re.compile(r"<pyopencl-[\w-]+\.h>")
"""Headers in which nothing does."""


def source_of(program: Any) -> str | None:
    """The text that a program was built from, where it is known."""
    kept = getattr(program, "_source", None)
    if isinstance(kept, str) and kept:
        return kept
    try:
        return program.get_info(cl.program_info.SOURCE) or None
    except cl.Error:
        return None


def options_of(program: Any, device: Any) -> str:
    """How a program was built."""
    options: str = program.get_build_info(device, cl.program_build_info.OPTIONS)
    return options


def binary_of(program: Any, device: Any) -> bytes:
    """What a program was built to on a device."""
    devices = program.get_info(cl.program_info.DEVICES)
    binary: bytes = program.get_info(cl.program_info.BINARIES)[devices.index(device)]
    return binary


def sign_in(text: str | None, options: str, *, pad: bool) -> str | None:
    """What may make results depend on the local size, as words; None where nothing does.

    Args:
        text: the source, all of whose kernels count.
        options: what it was built with.
        pad: whether the global size goes by the local one.
    """
    if text is None:
        return "its source is not known"
    words = shlex.shlex(options, posix=True)
    words.whitespace_split, words.escape, words.commenters = True, "", ""
    try:
        given = list(words)
    except ValueError:  # a quote that does not end
        return f"its options {shown(options)} may hide anything"
    option, hidden = hiding_option(given), hidden_in_source(text, _HARMLESS)
    if option is not None:
        return f"its option {option} may hide anything"
    if hidden is not None:
        return f"its source has {hidden}, which may hide anything"
    plain = bare("\n".join((*defined_by(given), text)))
    sign = _GROUPS.search(plain) or (_WHOLE.search(plain) if pad else None)
    return None if sign is None else f"its source says {sign[0]}"
