"""Templates and the arguments of a call as files describe them: Vyre's own form, and T1."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vyre.adapter.template.expressions import Expression, NoValue, literal
from vyre.adapter.template.signature import number_named
from vyre.errors import InvalidInput
from vyre.plain import shown

Argument = np.ndarray[Any, Any] | np.generic

_FORMULAS = ("size", "grid", "block", "grid_div_x", "grid_div_y", "grid_div_z", "shared")
_KEYS = (
    *("name", "params", "restrictions", *_FORMULAS, "options", "language", "check"),
    *("rtol", "atol", "arguments"),
)
_FILLS = ("random", "zeros", "ones", "index")
_NUMPY = re.compile(r"(?:u?int(?:8|16|32|64)|float(?:16|32|64))")
_MOST_BYTES = 1 << 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a file says of a kernel: what `vyre.template` is given, and the arguments of a call."""

    source: Path
    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[Argument, ...] = ()


def described_by(source: Path, params: Path) -> Description:
    """A kernel of a source, by a file of Vyre's own form.

    Raises:
        InvalidInput: the file is no such thing.
    """
    said = _object(params)
    for key in said:
        if key not in _KEYS:
            raise InvalidInput(
                f"{params} says {shown(key)}, which means nothing", f"use {', '.join(_KEYS)}"
            )
    for key in ("name", "params", "arguments"):
        if key not in said:
            raise InvalidInput(
                f"{params} does not say {key!r}", "say name, params and arguments at least"
            )
    given = {key: value for key, value in said.items() if key not in ("name", "arguments")}
    for key in _FORMULAS:
        if isinstance(given.get(key), list):
            given[key] = tuple(given[key])
    listed = said["arguments"]
    if not isinstance(listed, list):
        raise InvalidInput(f"arguments of {params} are {shown(listed)}", "give a list of them")
    sizes = _sizes(said.get("size"))
    arguments = tuple(_argument(one, number, sizes, params) for number, one in enumerate(listed))
    return Description(source=source, name=str(said["name"]), given=given, arguments=arguments)


def described_by_t1(path: Path) -> Description:
    """A kernel by a T1 description, read as Kernel Tuner reads it; none of it is run.

    Raises:
        InvalidInput: the file is no such thing, or asks for what Kernel Tuner does not know either.
    """
    said = _object(path)
    kernel, space = (
        _part(said, "KernelSpecification", path),
        _part(said, "ConfigurationSpace", path),
    )
    name = str(_needed(kernel, "KernelName", path))
    file = Path(str(_needed(kernel, "KernelFile", path)))
    places = (path.parent / file, path.parent.parent / file, file)
    found = [one for one in places if _is_file(one)]
    if not found:
        raise InvalidInput(
            f"{path} names {shown(str(file))}, which is not beside it",
            "put the kernel's file there",
        )
    params = {}
    for one in _list(space, "TuningParameters", path):
        params[str(_needed(one, "Name", path))] = _values(one, path)
    asked = _list(space, "Conditions", path) if space.get("Conditions") else []
    conditions = [str(_needed(one, "Expression", path)) for one in asked]
    given: dict[str, Any] = {
        "params": params,
        "restrictions": conditions,
        "size": _axes(_needed(kernel, "ProblemSize", path)),
        "language": _language(str(_needed(kernel, "Language", path)), path),
        # An empty list says nothing there: the block's size divides.
        **{
            f"grid_div_{axis.lower()}": _axes(kernel.get(f"GridDiv{axis}") or None)
            for axis in "XYZ"
        },
    }
    if kernel.get("SharedMemory"):  # 0 is what files say that ask for none
        given["shared"] = kernel["SharedMemory"]
    options = kernel.get("CompilerOptions")
    if options:
        given["options"] = tuple(options) if isinstance(options, list) else options
    largest = {one: max(values) for one, values in params.items() if not isinstance(values[0], str)}
    arguments = tuple(
        _t1_argument(one, number, largest, path)
        for number, one in enumerate(_list(kernel, "Arguments", path))
    )
    return Description(source=found[0], name=name, given=given, arguments=arguments)


def _object(path: Path) -> dict[str, Any]:
    if not _is_file(path):
        raise InvalidInput(f"no file {str(path)!r}", "give the path of a JSON file")
    try:
        said = json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{path} line {error.lineno}, column {error.colno} is not JSON: {error.msg}",
            "mend that line",
        ) from None
    except (OSError, ValueError, RecursionError) as error:  # a number of 5,000 digits, say
        raise InvalidInput(f"{path} is not JSON: {error}", "write it as JSON, in UTF-8") from None
    if not isinstance(said, dict):
        raise InvalidInput(f"{path} holds no JSON object", "begin it with {")
    return said


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def _sizes(size: object) -> dict[str, int]:
    """What expressions for sizes of arguments may name: the problem's size, where it is plain."""
    parts: list[Any] = size if isinstance(size, list) else [size]
    if not parts or not all(type(one) is int for one in parts):
        return {}
    named = dict(zip(("size_x", "size_y", "size_z"), parts, strict=False))
    return {"size": parts[0], **named}


def _argument(said: Any, number: int, sizes: Mapping[str, int], path: Path) -> Argument:
    where = f"argument {number} of {path}"
    if not isinstance(said, dict):
        raise InvalidInput(f"{where} is {shown(said)}", 'give {"type": "float32", "size": 1000}')
    match sorted(said):
        case ["file"]:
            return _from_file(path.parent / str(said["file"]), where)
        case ["type", "value"]:
            return _scalar(_dtype(said["type"], where), said["value"], where)
        case ["size", "type"] | ["fill", "size", "type"]:
            elements = _elements(said["size"], sizes, where)
            fill = said.get("fill", "random")
            return _filled(_dtype(said["type"], where), elements, fill, number, where)
        case keys:
            raise InvalidInput(
                f"{where} says {', '.join(map(str, keys)) or 'nothing'}",
                "say type and value, of a number; type, size and fill, of an array; or file",
            )


def _dtype(name: object, where: str) -> np.dtype[Any]:
    text = str(name).strip()
    if _NUMPY.fullmatch(text):
        return np.dtype(text)
    found = number_named(text.rstrip("* "), "cuda")
    if not found:
        raise InvalidInput(
            f"{where} is of type {shown(name)}", "use a type of C's or of NumPy's, such as float32"
        )
    return np.dtype(found)


def _elements(said: object, sizes: Mapping[str, int], where: str) -> int:
    found: Any = said
    if isinstance(said, str):
        expression = Expression.of(said, f"the size of {where}")
        for one in expression.names:
            if one not in sizes:
                raise InvalidInput(
                    f"the size of {where}, {shown(said)}, names {shown(one)}",
                    f"name some of {', '.join(sizes)}" if sizes else "give a number",
                )
        try:
            found = int(expression.value(sizes))
        except (NoValue, TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(
                f"the size of {where}, {shown(said)}, has no value: {error}", "mend it"
            ) from None
    if type(found) is not int or not 0 <= found <= _MOST_BYTES:
        raise InvalidInput(f"the size of {where} is {shown(found)}", "give a number of elements")
    return found


def _scalar(dtype: np.dtype[Any], value: object, where: str) -> np.generic:
    if not isinstance(value, (int, float)) or (dtype.kind != "f" and not isinstance(value, int)):
        raise InvalidInput(f"{where} is {shown(value)}, not {dtype.name}", "give such a number")
    try:
        with np.errstate(over="raise"):
            made: np.generic = dtype.type(value)
    except (OverflowError, FloatingPointError):
        raise InvalidInput(
            f"{where} is {shown(value)}, not {dtype.name}", "give such a number"
        ) from None
    return made


def _filled(
    dtype: np.dtype[Any], elements: int, fill: object, number: int, where: str
) -> np.ndarray[Any, Any]:
    """An array that is the same in every run."""
    try:
        return _made(dtype, elements, fill, number, where)
    except MemoryError:
        raise InvalidInput(
            f"{where} has {elements:,} elements of {dtype.name}, for which there is no memory",
            "give it fewer",
        ) from None


def _made(
    dtype: np.dtype[Any], elements: int, fill: object, number: int, where: str
) -> np.ndarray[Any, Any]:
    if isinstance(fill, (int, float)) and not isinstance(fill, bool):
        return np.full(elements, _scalar(dtype, fill, where), dtype)
    match fill:
        case "zeros":
            return np.zeros(elements, dtype)
        case "ones":
            return np.ones(elements, dtype)
        case "index":
            return np.arange(elements).astype(dtype)
        case "random":
            random = np.random.default_rng(number)
            if dtype.kind == "f":
                return random.random(elements).astype(dtype)
            return random.integers(0, 100, elements).astype(dtype)
        case _:
            raise InvalidInput(
                f"{where} is filled with {shown(fill)}", f"use {', '.join(_FILLS)}, or a number"
            )


def _from_file(path: Path, where: str) -> Argument:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidInput(
            f"{where} cannot be read from {path}: {error}", "write it with numpy.save"
        ) from None
    if not isinstance(found, np.ndarray):
        raise InvalidInput(f"{where} is {path}, which holds several arrays", "save one in a file")
    return np.ascontiguousarray(found) if found.ndim else found[()]


def _part(said: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    found = said.get(name)
    if not isinstance(found, dict):
        raise InvalidInput(
            f"{path} has no {name}, so it is no T1 description",
            "give one, or a source and --params",
        )
    return found


def _list(said: Mapping[str, Any], name: str, path: Path) -> list[dict[str, Any]]:
    found = said.get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InvalidInput(f"{path} has no list {name}", "write it as T1 asks")
    return found


def _needed(said: Mapping[str, Any], name: str, path: Path) -> Any:
    if name not in said:
        raise InvalidInput(f"{path} does not say {name}", "write it as T1 asks")
    return said[name]


def _values(said: Mapping[str, Any], path: Path) -> tuple[Any, ...]:
    """The values of a parameter: a text that holds a list."""
    name, kind = _needed(said, "Name", path), _needed(said, "Type", path)
    if kind not in ("int", "float", "string"):
        raise InvalidInput(f"{name} of {path} is of type {shown(kind)}", "use int, float or string")
    text = _needed(said, "Values", path)
    found = literal(text, f"Values of {name} in {path}") if isinstance(text, str) else text
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        found = (found,)
    values = tuple(found)
    plain = {"int": int, "float": (int, float), "string": str}[kind]
    if not values or not all(isinstance(one, plain) for one in values):  # type: ignore[arg-type]  # a type, or two
        raise InvalidInput(
            f"Values of {name} in {path} are {shown(text)}, of type {kind}",
            'write a list in a text, such as "[32, 64]"',
        )
    return values


def _axes(said: Any) -> Any:
    return tuple(said) if isinstance(said, list) else said


def _language(said: str, path: Path) -> str:
    found = {"cuda": "cuda", "cupy": "cuda", "nvcuda": "cuda", "opencl": "opencl"}.get(said.lower())
    if found is None:
        raise InvalidInput(f"{path} is in {shown(said)}", "use CUDA or OpenCL")
    return found


def _t1_argument(
    said: Mapping[str, Any], number: int, largest: Mapping[str, Any], path: Path
) -> Argument:
    """An argument as Kernel Tuner makes it; sizes are for the largest of each parameter."""
    where = f"argument {said.get('Name', number)} of {path}"
    kind, memory = _needed(said, "Type", path), _needed(said, "MemoryType", path)
    dtype = _dtype(kind, where)
    if memory == "Scalar":
        return _scalar(dtype, _needed(said, "FillValue", path), where)
    if memory != "Vector":
        raise InvalidInput(f"{where} is a {shown(memory)}", "use Vector or Scalar")
    elements = _elements(_needed(said, "Size", path), largest, where)
    fill = _needed(said, "FillType", path)
    if fill not in ("Constant", "Random"):
        raise InvalidInput(f"{where} is filled by {shown(fill)}", "use Constant or Random")
    value = _needed(said, "FillValue", path) if fill == "Constant" else "random"
    return _filled(dtype, elements, value, number, where)
