"""Objects of LLVM on Linux for x86-64, put into memory without LLVM.

LLVM would do it too, but loading LLVM takes 38 ms and 48 MB. What this does not know it refuses:
thread-local data, initialisers, common symbols, relocations of other code models. Every offset is
checked, so a damaged file is refused and never reaches memory that is not its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_IDENT = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian, version 1
_RELOCATABLE, _X86_64 = 1, 62

_PROGBITS, _SYMTAB, _STRTAB, _RELA, _NOBITS = 1, 2, 3, 4, 8
_UNWIND = 0x70000001  # .eh_frame, for exceptions, which ours never throw
_HARMLESS = {0, _SYMTAB, _STRTAB, _RELA, 7, 17}  # with no section, notes and groups
_RUN_BY_LOADERS = (b".ctors", b".dtors", b".init", b".fini", b".preinit")
_WRITE, _ALLOC, _EXECUTE, _TLS = 1, 2, 4, 0x400

_UNDEFINED = 0
_KNOWN_TYPES = {0, 1, 2, 3, 4}  # of symbols: none, data, function, section, file

_ABS64, _PC32, _PLT32, _PC64 = 1, 2, 4, 24
_THROUGH_TABLE = {9, 41, 42}  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX

_JUMP = b"\xff\x25\0\0\0\0"  # jmp *(%rip), to the address that follows
_STUB = 16
PAGE = 1 << 12
MOST_BYTES = 64 << 20


class Refused(Exception):
    """An object that cannot be put into memory, and why."""


class Unknown(Refused):
    """An object in which there is what only LLVM's loader may know."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: int
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: bytes
    kind: int
    section: int
    value: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each section goes: code first, then what is read, then what is written, by pages.

    A symbol that is not in the file, or is reached through a table of addresses, has a stub behind
    the code: a jump to the address that is written after it.
    """

    sections: Mapping[int, int]
    stubs: Mapping[int, int]
    code_bytes: int
    read_bytes: int
    write_bytes: int

    @property
    def nbytes(self) -> int:
        return self.code_bytes + self.read_bytes + self.write_bytes


class Object:
    """A relocatable file, parsed; `Refused` where anything in it is not as expected."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._sections = _sections(data)
        self._check_kinds()
        self._symbols = tuple(self._read_symbols())
        self.layout = self._laid_out()

    def symbol(self, name: str) -> int:
        """A function's or a variable's offset from the base."""
        wanted = name.encode()
        for one in self._symbols:
            if one.name == wanted and one.section in self.layout.sections and one.kind in (1, 2):
                return self.layout.sections[one.section] + self._within(one)
        raise Refused(f"there is no {name!r} in it")

    def image(self, base: int, imports: Mapping[str, int]) -> bytes:
        """What belongs into memory at an address; what it lacks comes from `imports`."""
        image = bytearray(self.layout.nbytes)
        for number, offset in self.layout.sections.items():
            section = self._sections[number]
            if section.kind == _PROGBITS:
                content = self._data[section.offset : section.offset + section.size]
                image[offset : offset + section.size] = content
        for number, offset in self.layout.stubs.items():
            address = self._address(self._symbols[number], base, imports)
            image[offset : offset + _STUB] = (_JUMP + struct.pack("<Q", address)).ljust(_STUB)
        for number, section in enumerate(self._sections):
            if section.kind == _RELA and section.info in self.layout.sections:
                for relocation in self._relocations(number):
                    self._apply(image, base, section.info, relocation)
        return bytes(image)

    def _check_kinds(self) -> None:
        (number,) = struct.unpack_from("<H", self._data, _HEADER.size - 2)
        names = self._content(self._at(number, _STRTAB))
        for section in self._sections:
            if _name_at(names, section.name).startswith(_RUN_BY_LOADERS):
                raise Unknown("it has code that is to be run when it is loaded")
            if section.flags & _TLS:
                raise Unknown("it has thread-local data")
            if section.flags & _ALLOC and section.kind not in (_PROGBITS, _NOBITS, _UNWIND):
                raise Unknown(f"a section has the unknown type {section.kind:#x}")
            if not section.flags & _ALLOC and section.kind not in (*_HARMLESS, _PROGBITS):
                raise Unknown(f"a section has the unknown type {section.kind:#x}")
            if section.flags & _WRITE and section.flags & _EXECUTE:
                raise Unknown("a section is to be written and run")

    def _read_symbols(self) -> Iterator[_Symbol]:
        tables = [one for one in self._sections if one.kind == _SYMTAB]
        if len(tables) != 1:
            raise Refused(f"it has {len(tables)} tables of symbols")
        table = tables[0]
        names = self._content(self._at(table.link, _STRTAB))
        for fields in _rows(_SYMBOL, self._content(table)):
            name, info, _, section, value, _ = fields
            yield _Symbol(_name_at(names, name), info & 15, section, value)

    def _laid_out(self) -> Layout:
        kept = {
            number: one
            for number, one in enumerate(self._sections)
            if one.flags & _ALLOC and one.kind in (_PROGBITS, _NOBITS)
        }
        if sum(one.size for one in kept.values()) > MOST_BYTES:
            raise Refused(f"it takes more than {MOST_BYTES:,} bytes")
        sections: dict[int, int] = {}
        stubs: dict[int, int] = {}
        ends, place = [], 0
        for kind in (_EXECUTE, 0, _WRITE):
            for number, one in kept.items():
                if one.flags & (_EXECUTE | _WRITE) == kind:
                    sections[number] = place = _up(place, one.align)
                    place += one.size
            if kind == _EXECUTE:
                for number in self._behind_stubs(kept):
                    stubs[number] = place = _up(place, _STUB)
                    place += _STUB
            place = _up(place, PAGE)
            ends.append(place)
        code, read, write = ends
        return Layout(sections, stubs, code, read - code, write - read)

    def _behind_stubs(self, kept: Mapping[int, _Section]) -> list[int]:
        """The symbols, by number, that need one."""
        found: dict[int, None] = {}
        for number, section in enumerate(self._sections):
            if section.kind == _RELA and section.info in kept:
                for _, info, _ in self._relocations(number):
                    kind, symbol = info & 0xFFFFFFFF, info >> 32
                    if self._symbol_at(symbol).section == _UNDEFINED or kind in _THROUGH_TABLE:
                        found[symbol] = None
        return list(found)

    def _relocations(self, number: int) -> Iterator[tuple[int, ...]]:
        """Of each: its offset in the section, its kind and symbol in one, what to add."""
        section = self._sections[number]
        self._at(section.link, _SYMTAB)
        return _rows(_RELOCATION, self._content(section))

    def _apply(self, image: bytearray, base: int, number: int, relocation: tuple[int, ...]) -> None:
        offset, info, addend = relocation
        kind, symbol = info & 0xFFFFFFFF, info >> 32
        width = 8 if kind in (_ABS64, _PC64) else 4
        if offset + width > self._sections[number].size:
            raise Refused("a relocation lies outside its section")
        place = self.layout.sections[number] + offset
        if kind in _THROUGH_TABLE:
            value = self.layout.stubs[symbol] + len(_JUMP) + addend - place
        elif kind == _PLT32 and symbol in self.layout.stubs:
            value = self.layout.stubs[symbol] + addend - place
        elif kind in (_PC32, _PLT32, _PC64):
            value = self._offset(self._symbols[symbol]) + addend - place
        elif kind == _ABS64:
            value = base + self._offset(self._symbols[symbol]) + addend
        else:
            raise Unknown(f"relocation {kind} is not known")
        try:
            image[place : place + width] = value.to_bytes(width, "little", signed=True)
        except OverflowError:
            raise Unknown(f"relocation {kind} does not reach") from None

    def _address(self, symbol: _Symbol, base: int, imports: Mapping[str, int]) -> int:
        if symbol.section != _UNDEFINED:
            return base + self._offset(symbol)
        name = symbol.name.decode(errors="replace")
        if name not in imports:
            raise Refused(f"it needs {name!r}, which is not offered")
        return imports[name]

    def _offset(self, symbol: _Symbol) -> int:
        """Where a symbol is, from the base."""
        if symbol.section not in self.layout.sections:
            raise Refused(f"a relocation to {symbol.name!r}, which is not put into memory")
        return self.layout.sections[symbol.section] + self._within(symbol)

    def _within(self, symbol: _Symbol) -> int:
        if symbol.kind not in _KNOWN_TYPES:
            raise Unknown(f"a symbol has the unknown type {symbol.kind}")
        if symbol.value > self._sections[symbol.section].size:
            raise Refused("a symbol lies outside its section")
        return symbol.value

    def _symbol_at(self, number: int) -> _Symbol:
        if number >= len(self._symbols):
            raise Refused(f"there is no symbol {number}")
        return self._symbols[number]

    def _at(self, number: int, kind: int) -> _Section:
        if number >= len(self._sections) or self._sections[number].kind != kind:
            raise Refused(f"section {number} is not of type {kind}")
        return self._sections[number]

    def _content(self, section: _Section) -> bytes:
        return self._data[section.offset : section.offset + section.size]


def _sections(data: bytes) -> tuple[_Section, ...]:
    if len(data) < _HEADER.size:
        raise Refused("it is too short")
    ident, kind, machine, *_ = header = _HEADER.unpack_from(data)
    if not ident.startswith(_IDENT) or kind != _RELOCATABLE or machine != _X86_64:
        raise Refused("it is no relocatable file for x86-64")
    start, entry, count = header[6], header[11], header[12]
    if entry != _SECTION.size or count == 0 or start + entry * count > len(data):
        raise Refused("its sections are not listed as they should be")
    rows = _rows(_SECTION, data[start : start + entry * count])
    found = tuple(
        _Section(name, kind, flags, offset, size, link, info, align)
        for name, kind, flags, _, offset, size, link, info, align, _ in rows
    )
    for one in found:
        if one.kind not in (0, _NOBITS) and one.offset + one.size > len(data):
            raise Refused("a section ends behind the file")
        if one.align > PAGE or one.align & (
            one.align - 1
        ):  # a page is what a mapping is aligned to
            raise Unknown(f"a section is aligned to {one.align}")
    return found


def _rows(form: struct.Struct, data: bytes) -> Iterator[tuple[int, ...]]:
    if len(data) % form.size:
        raise Refused("a table has a broken last row")
    return form.iter_unpack(data)


def _name_at(names: bytes, offset: int) -> bytes:
    end = names.find(b"\0", offset)
    if offset >= len(names) or end < 0:
        raise Refused("a name lies outside its table")
    return names[offset:end]


def _up(value: int, step: int) -> int:
    return -(-value // max(step, 1)) * max(step, 1)
