"""Source with macros: read from a file or given as text, and as it is compiled for a config."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vyre.adapter.identity import digest_of
from vyre.adapter.reading.sources import bare
from vyre.adapter.template.signature import Signature, Unread, signature_of
from vyre.adapter.template.sizes import BLOCK_NAMES, GRID_NAMES, Launch
from vyre.errors import DeviceFailed, InvalidInput
from vyre.plain import is_utf8, shown

LANGUAGES = {"cuda": (".cu", ".cuh"), "opencl": (".cl", ".ocl")}
"""What kernels are written in, and how their files end."""

_UNROLL = "loop_unroll_factor"
_RESERVED = ("time", "kernel_tuner", "defined", *GRID_NAMES)
_KEYWORDS_TEXT = (
    "auto bool break case char const constexpr continue default do double else enum "
    "extern float for goto half if inline int kernel global local long private register "
    "restrict return short signed sizeof static struct switch template typedef typename "
    "union unsigned using void volatile while"
)
_KEYWORDS = frozenset(_KEYWORDS_TEXT.split())
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = re.compile(r"([A-Za-z0-9_]+)")
_INCLUDE = re.compile(
    r"""^[ \t]*\#[ \t]*include(?:[ \t]|/\*.*?\*/)*
        (?:"(?P<beside>[^"\n]+)" | <(?P<told>[^>\n]+)> | (?P<macro>\w+))""",
    re.MULTILINE | re.VERBOSE,
)
_QUOTED = re.compile(r'"([^"\n]+)"')
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:[ \t]+(\w+))?", re.MULTILINE)
_FOLDER = re.compile(r"^(?:-I|--include-path[=\n])\s*(.+)$", re.MULTILINE)
_BEFORE = re.compile(r"^(?:-include|--pre-include)[=\n](.+)$", re.MULTILINE)
_DEFINED = re.compile(r"^(?:-D|--define-macro[= \n])\s*([A-Za-z_]\w*)", re.MULTILINE)
_MOST_INCLUDES = 200
_SIGNS = {
    "opencl": re.compile(r"\b(__kernel|__global|get_global_id|get_local_id|get_group_id)\b"),
    "cuda": re.compile(r"\b(__global__|threadIdx|blockIdx|__device__)\b"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A text, what it is called in a compiler's messages, and what it includes.

    Args:
        text: as it was written.
        where: its file, or the kernel's name in angle brackets.
        language: `cuda` or `opencl`.
        folder: where a compiler looks for what it includes; empty for a text.
        included: by name, the texts of what it includes, as far as they are found beside it or in
            folders that its compiler is told of.
        files: the paths of those, each with a digest of what it held.
    """

    text: str
    where: str
    language: str
    folder: str = ""
    included: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()

    @property
    def identity(self) -> str:
        """All of it that decides what is computed, wherever it lies."""
        return "\n".join((self.text, *(f"{name}\n{text}" for name, text in self.included)))

    def says(self, word: str) -> bool:
        """Whether a word stands anywhere in it."""
        pattern = re.compile(rf"\b{re.escape(word)}\b")
        return any(pattern.search(text) for text in (self.text, *(one for _, one in self.included)))


def source_of(
    given: object, name: str, language: object = None, options: Sequence[str] = ()
) -> Source:
    """The source that a caller gave: a text, or a file by its path.

    Args:
        given: either.
        name: the kernel's.
        language: `cuda` or `opencl`, where the source does not say it.
        options: for the compiler.

    Raises:
        InvalidInput: there is no such file, or nothing says what it is written in.
    """
    if language is not None and language not in LANGUAGES:
        raise InvalidInput(
            f"language={shown(language)} of {name}", f"use one of {', '.join(LANGUAGES)}"
        )
    if not isinstance(given, (str, Path)):
        raise InvalidInput(
            f"source of {name} is {shown(given)}", "give its text, or the path of its file"
        )
    path = _path_of(given)
    if path is None:
        text, where, folder = (
            _plain(str(given), f"the source of {name}"),
            f"<{base_name(name)}>",
            None,
        )
    else:
        text, where, folder = _read(path), path.name, path.resolve().parent
    spoken = str(language) if language is not None else _language_of(text, path, name)
    # What is given as a text includes from where the process is.
    included = tuple(_included(text, Path.cwd() if folder is None else folder, options))
    return Source(
        text=text,
        where=where,
        language=spoken,
        folder="" if folder is None else str(folder),
        included=tuple((called, held) for called, _, held in included),
        files=tuple((str(place), digest_of((held,))) for _, place, held in included),
    )


def _path_of(given: str | Path) -> Path | None:
    """The file that is meant; None where it is a text."""
    if isinstance(given, Path):
        return given
    ends = tuple(end for ends in LANGUAGES.values() for end in ends)
    if (
        "\n" not in given
        and "{" not in given
        and given.endswith((*ends, ".h", ".hpp", ".c", ".cpp"))
    ):
        return Path(given)
    return None


def _read(path: Path) -> str:
    if not path.is_file():
        raise InvalidInput(f"no file {str(path)!r}", "give the path of a kernel's source")
    try:
        return _plain(path.read_bytes().decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is not UTF-8: {error.reason} at byte {error.start:,}", "save it as UTF-8"
        ) from None


def _plain(text: str, what: str) -> str:
    """A text with the ends of lines that every compiler knows."""
    if "\0" in text or not is_utf8(text):
        raise InvalidInput(f"{what} holds what no source can", "leave it out")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return lines if lines.endswith("\n") else f"{lines}\n"


def _language_of(text: str, path: Path | None, name: str) -> str:
    for language, ends in LANGUAGES.items():
        if path is not None and path.suffix in ends:
            return language
    code = bare(text)
    found = [language for language, sign in _SIGNS.items() if sign.search(code)]
    if len(found) == 1:
        return found[0]
    raise InvalidInput(
        f"the source of {name} does not say what it is written in",
        'say language="cuda" or language="opencl"',
    )


def refuse_changed(files: Iterable[Sequence[str]], kernel: str) -> None:
    """Refuse to compile what includes other than it did when its source was read.

    Else configs would be of different code, and kept as if they were not.

    Raises:
        DeviceFailed: a file has changed, or is gone.
    """
    for place, digest in files:
        try:
            held = _held(Path(place))
        except OSError:
            held = ""
        if digest_of((held,)) != digest:
            raise DeviceFailed(
                f"{place} is not what it was when the source of {kernel} was read",
                "make the template again",
            )


def _held(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _included(text: str, folder: Path, options: Sequence[str]) -> Iterator[tuple[str, Path, str]]:
    """What a text and its options include, and what that does, each once: name, place, text."""
    said = "\n".join(options)
    told = [folder, *(Path(one) for one in _FOLDER.findall(said))]
    before = "".join(f'#include "{one}"\n' for one in _BEFORE.findall(said))
    waiting, seen = [(before + text, folder)], set[Path]()
    while waiting:
        inside, beside = waiting.pop(0)
        for name in _named_in(inside):
            # As compilers look for it: beside who asks, then where they were told.
            for place in dict.fromkeys((beside, *told)):
                try:
                    path = (place / name).resolve()
                    if not path.is_file():
                        continue
                    if path in seen or len(seen) == _MOST_INCLUDES:
                        break
                    seen.add(path)
                    found = _held(path)
                except (OSError, RuntimeError):  # no name of a file's, or a loop of links
                    continue
                yield name, path, found
                waiting.append((found, path.parent))
                break


def _named_in(text: str) -> Iterator[str]:
    """What a text may include, each once: where a macro says it, all that stands in quotes."""
    names: dict[str, None] = {}
    joined = text.replace("\\\n", "")
    for found in _INCLUDE.finditer(joined):
        if found["macro"]:
            names.update(dict.fromkeys(_QUOTED.findall(joined)))
        else:
            names[found["beside"] or found["told"]] = None
    yield from names


def refuse_names(
    source: Source, kernel: str, names: Sequence[object], signature: Signature | Unread
) -> None:
    """Refuse parameters that can be no macro of a source.

    Raises:
        InvalidInput: one is none.
    """
    taken = {} if isinstance(signature, Unread) else {one.name for one in signature.parameters}
    for name in names:
        why = None
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            why = "is no name of C's"
        elif name in _RESERVED:
            why = "means something else already"
        elif name in _KEYWORDS or name.startswith("__"):
            why = "is a word of the language's"
        elif name == base_name(kernel):
            why = "is the kernel's own name"
        elif name in taken:
            why = f"is what {kernel} calls an argument, and as a macro it would replace it"
        if why is not None:
            raise InvalidInput(
                f"a parameter {shown(name)} of {kernel}, which {why}",
                f"give it another name, in {source.where} as well",
            )


def refuse_defined(source: Source, names: Sequence[str]) -> None:
    """Refuse a source that defines parameters itself: every config would be the same code.

    Where a condition decides it, such as `#ifndef`, the author may know better.

    Raises:
        InvalidInput: it does.
    """
    depth = 0
    for word, name in _DIRECTIVE.findall(bare(source.text)):
        if word == "define" and depth == 0 and name in names:
            raise InvalidInput(
                f"{source.where} defines {name} itself, whatever a config says",
                f"put that between #ifndef {name} and #endif",
            )
        depth += {"if": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(word, 0)


def base_name(kernel: str) -> str:
    """A kernel's name without what stands for a template's parameters."""
    return kernel.partition("<")[0].strip().rpartition("::")[2]


def kernel_name(kernel: str, settings: Mapping[str, Any]) -> str:
    """A kernel's name under a config: what a template takes may be parameters.

    >>> kernel_name("add<T, block_size_x>", {"block_size_x": 64, "T": "float"})
    'add<float, 64>'
    """
    if "<" not in kernel:
        return kernel
    head, _, rest = kernel.partition("<")
    words = [_value(settings[one], one) if one in settings else one for one in _WORDS.split(rest)]
    return f"{head}<{''.join(words)}"


def text_for(source: Source, settings: Mapping[str, Any], launch: Launch | None) -> str:
    """What is compiled for a config: a macro for each parameter, then the source from its line 1.

    As Kernel Tuner does it, but for two things: sizes that no parameter says are defined where the
    source asks for them alone, because a launch's own would make each size another text; and true
    and false are 1 and 0, which C can read.
    """
    text, lines = source.text, []
    for name, value in (_derived(source, settings, launch) | dict(settings)).items():
        said = _value(value, name)
        if _UNROLL in name and source.language == "cuda":
            if said == "0":
                text = re.sub(
                    rf"^[ \t]*#pragma[ \t]+unroll[ \t]+{name}\b[^\n]*", "", text, flags=re.M
                )
            else:
                lines.append(f"constexpr int {name} = {said};")
        else:
            lines.append(f"#define {name} {said}")
    lines.append("#define kernel_tuner 1")
    where = source.where.replace("\\", "/").replace('"', "'")
    return "".join(f"{line}\n" for line in (*lines, f'#line 1 "{where}"')) + text


def asks_for_grid(source: Source) -> bool:
    """Whether what is compiled depends on the size of a launch."""
    return any(source.says(name) for name in GRID_NAMES)


def _derived(source: Source, settings: Mapping[str, Any], launch: Launch | None) -> dict[str, Any]:
    if launch is None:
        return {}
    known = zip((*GRID_NAMES, *BLOCK_NAMES), (*launch.grid, *launch.block), strict=True)
    return {name: value for name, value in known if name not in settings and source.says(name)}


def _value(value: Any, name: str) -> str:
    """What a macro stands for.

    Raises:
        InvalidInput: it would take in the line below, or no source can hold it.
    """
    if isinstance(value, bool):
        return str(int(value))
    if "\0" in str(value):
        raise InvalidInput(f"{name}={shown(value)} holds what no source can", "leave it out")
    said = str(value).replace("\r", "").replace("\n", "\\\n")
    if said.endswith("\\"):
        raise InvalidInput(
            f"{name}={shown(value)}, whose backslash takes in the line below", "leave it out"
        )
    return said


def macros_in(options: Sequence[str]) -> tuple[str, ...]:
    """What options for a compiler define.

    >>> macros_in(["-DN=4", "-D", "real=float", "-I/x", "--define-macro=half"])
    ('N', 'real', 'half')
    """
    return tuple(_DEFINED.findall("\n".join(options)))


def read_signature(source: Source, kernel: str, macros: Collection[str] = ()) -> Signature | Unread:
    """What the source says of a kernel's parameters, behind macros of these names.

    Raises:
        InvalidInput: no kernel of the name is there.
    """
    texts = [source.text, *(text for _, text in source.included)]
    whole, name = "\n".join(texts), base_name(kernel)
    return signature_of(whole, name, source.language, source.where, macros)
