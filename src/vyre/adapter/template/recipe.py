"""Everything that an author says of a template, as a value: what is compiled and launched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vyre.adapter.template.signature import Parameter, Signature, Unread
from vyre.adapter.template.sizes import Launch, Size, Sizes
from vyre.adapter.template.source import Source, kernel_name, refuse_changed, text_for
from vyre.backend.base import LoadedText, Rehearsal, Text, Texts, Unbuilt
from vyre.errors import DeviceFailed, InvalidInput
from vyre.model import Knobs
from vyre.runtime.devices.device import Device

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A kernel of a source, and how a configuration of it is compiled and launched."""

    name: str
    source: Source
    signature: Signature | Unread
    sizes: Sizes
    options: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """All of it that may change which configuration wins, wherever its file lies."""
        parts = (self.name, self.source.language, *self.options, self.sizes.text)
        return "\n".join(("template", *parts, *self.sizes.names, self.source.identity))

    @property
    def parameters(self) -> tuple[Parameter, ...] | None:
        """What a caller passes, where the source says it."""
        return None if isinstance(self.signature, Unread) else self.signature.passed

    @property
    def local_at(self) -> int | None:
        """Which parameter is workgroup memory of the size that `shared=` says."""
        if isinstance(self.signature, Unread):
            return None
        found = [n for n, one in enumerate(self.signature.parameters) if one.is_local]
        return found[0] if found else None

    def text(self, settings: Settings, launch: Launch | None) -> Text:
        """What is compiled for a configuration."""
        source = self.source
        place = (f"-I{source.folder}",) if source.included and source.folder else ()
        return Text(
            source=text_for(source, settings, launch),
            entry=kernel_name(self.name, settings),
            options=(*self.options, *place),
            included="\n".join(f"{name}\n{text}" for name, text in source.included),
        )

    def whole(self, values: tuple[Any, ...], launch: Launch) -> tuple[Any, ...]:
        """The arguments of a launch: what is passed, and workgroup memory where it is asked for."""
        at = self.local_at
        return values if at is None else (*values[:at], launch.shared_bytes, *values[at:])


def texts_of(device: Device, recipe: Recipe) -> Texts:
    """What compiles a recipe's source for a device.

    Raises:
        InvalidInput: nothing does.
    """
    texts = device.backend.texts
    language = recipe.source.language
    if texts is None or texts.language != language:
        raise InvalidInput(
            f"{device.name} runs no source in {language}, and {recipe.name} is one",
            f"use the device {language}, and arrays of it",
        )
    return texts


def loaded(
    texts: Texts, recipe: Recipe, settings: Settings, launch: Launch, rehearsal: Rehearsal
) -> LoadedText:
    """A configuration of a recipe, compiled where it has to be, and able to be launched so.

    Raises:
        DeviceFailed: it cannot be compiled, or takes more than the device has.
    """
    refuse_changed(recipe.source.files, recipe.name)
    found = texts.load(recipe.text(settings, launch), rehearsal)
    if isinstance(found, Unbuilt):
        raise not_built(found, recipe.name, recipe.source.where, settings)
    x, y, z = launch.block
    if found.max_threads and x * y * z > found.max_threads:
        raise DeviceFailed(
            f"block {launch.block} of {recipe.name} is {x * y * z:,} threads, and its registers "
            f"leave {found.max_threads:,}",
            "restrict the parameters to smaller blocks",
        )
    return found


def refuse_unfit(found: LoadedText, recipe: Recipe, rehearsal: Rehearsal) -> None:
    """Refuse arguments that a compiled kernel would read as other bytes than they are.

    Raises:
        DeviceFailed: there are too many or too few, or one is not what the kernel takes there.
    """
    taken, given = found.parameters, rehearsal.arguments
    if taken is None:
        return
    if len(taken) != len(given):
        raise DeviceFailed(
            f"{recipe.name} takes {len(taken)} arguments, {len(given)} given",
            "pass as many as the kernel takes",
        )
    for number, (one, argument) in enumerate(zip(taken, given, strict=True)):
        why = one.refusal(argument)
        if why is not None:
            signature = recipe.signature
            named = (
                f"argument {number}"
                if isinstance(signature, Unread)
                else signature.parameters[number].name
            )
            raise DeviceFailed(
                f"{named} of {recipe.name} {why}",
                "pass what it takes, or restrict the parameters to what takes this",
            )


def not_built(unbuilt: Unbuilt, name: str, where: str, settings: Settings) -> DeviceFailed:
    """The error to raise for what a compiler refused, by the first that it said."""
    said = first_error(unbuilt.log) or unbuilt.reason
    return DeviceFailed(
        f"{name} does not compile under {Knobs.of(settings).text}: {said}",
        unbuilt.fix
        or f"mend {where}, or restrict the parameters; source() of the template shows what is "
        "compiled",
    )


def first_error(log: str) -> str:
    r"""The first line of a compiler's log that tells of an error; its first line where none does.

    >>> first_error("k.cu(1): warning: x\nk.cu(3): error: identifier y is undefined\n")
    'k.cu(3): error: identifier y is undefined'
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() and "CL_" not in line]
    plain = [line for line in errors if "BUILD_PROGRAM_FAILURE" not in line]
    return next(iter(plain or errors or lines), "")


def rehearsal_of(launch: Launch, recipe: Recipe, said: Sequence[tuple[Any, ...]]) -> Rehearsal:
    """A launch with such arguments as a driver that compiles for each is told of it."""
    whole = list(said)
    if recipe.local_at is not None:
        whole.insert(recipe.local_at, ("local", launch.shared_bytes))
    return Rehearsal(grid=launch.grid, block=launch.block, arguments=tuple(whole))


def launch_of(recipe: Recipe, settings: Settings, size: Size | None) -> Launch:
    """The launch of a configuration over a problem of that size."""
    sizes = recipe.sizes
    return sizes.launch(settings, sizes.size_of(settings, size, recipe.name))
