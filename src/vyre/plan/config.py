"""What a caller can say about one dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import StrEnum

from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.model import U32_MAX, Dim3
from vyre.plain import shown


class SpeculationMode(StrEnum):
    """Whether a dispatch may confirm before its prefilter has answered."""

    AUTO = "auto"
    FORCE = "force"
    DISABLE = "disable"


class PersistentThreadMode(StrEnum):
    """Whether a dispatch keeps its threads and hands them work."""

    AUTO = "auto"
    FORCE = "force"
    DISABLE = "disable"


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchConfig:
    """Wishes for one dispatch; what is left at its default is left to Vyre.

    `workgroup_override` and `grid_override` are authoritative; whether the device can launch them
    is checked where its limits are known. `dispatch_elements` and `dispatch_grid` state what a
    dispatch covers, in elements and in workgroups, where the buffers' lengths do not say it; the
    grid wins over the elements. `label` names the dispatch in its errors and log lines.
    """

    profile: str | None = None
    ulp_budget: int | None = None
    timeout: timedelta | None = None
    label: str | None = None
    max_output_bytes: int | None = None
    workgroup_override: Dim3 | None = None
    grid_override: Dim3 | None = None
    fixpoint_iterations: int | None = None
    speculation: SpeculationMode | None = None
    persistent_thread: PersistentThreadMode | None = None
    cooperative: bool = False
    dispatch_elements: int | None = None
    dispatch_grid: Dim3 | None = None

    def __post_init__(self) -> None:
        _check_range("ulp_budget", self.ulp_budget, 0, 255)
        _check_range("max_output_bytes", self.max_output_bytes, 0, None)
        _check_range("fixpoint_iterations", self.fixpoint_iterations, 1, U32_MAX)
        _check_range("dispatch_elements", self.dispatch_elements, 1, U32_MAX)
        for name in ("workgroup_override", "grid_override", "dispatch_grid"):
            object.__setattr__(self, name, _dim3(name, getattr(self, name)))  # a list is one, too
        timeout: object = self.timeout
        if timeout is not None and not (isinstance(timeout, timedelta) and timeout > timedelta()):
            text = str(timeout) if isinstance(timeout, timedelta) else shown(timeout)
            raise InvalidInput(f"timeout {text}", "use a timeout above 0, or None for none")
        for name in ("label", "profile"):
            if not isinstance(getattr(self, name), str | None):
                raise InvalidInput(
                    f"{name} {shown(getattr(self, name))}", "use a text, or None for none"
                )

    @property
    def fixed_grid(self) -> Dim3 | None:
        """The workgroup counts that the caller gives, if any."""
        return self.dispatch_grid if self.grid_override is None else self.grid_override


_FIELDS = {item.name: item.default for item in fields(DispatchConfig)}


def refuse_unsupported(config: DispatchConfig, backend: str, honoured: frozenset[str]) -> None:
    """Refuse, in one error, every wish that `backend` would have to ignore.

    Args:
        config: the caller's wishes; a field at its default is none.
        backend: its name, for the message.
        honoured: the fields of `DispatchConfig` that this backend acts on.

    Raises:
        UnsupportedFeature: a field is set that is not honoured.
        InvalidInput: `honoured` names something that is not a field.
    """
    unknown = sorted(honoured - _FIELDS.keys())
    if unknown:
        raise InvalidInput(
            f"backend {backend!r} honours {', '.join(unknown)}, which DispatchConfig does not have",
            f"use some of {', '.join(_FIELDS)}",
        )
    ignored = [
        name
        for name, default in _FIELDS.items()
        if name not in honoured and getattr(config, name) != default
    ]
    if ignored:
        shown = ", ".join(f"{name}={getattr(config, name)}" for name in ignored)
        raise UnsupportedFeature(
            f"backend {backend!r} does not honour {shown}",
            f"leave out {', '.join(ignored)}, or use another backend",
        )


def _check_range(name: str, value: object, low: int, high: int | None) -> None:
    if value is None:
        return
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and value >= low and (high is None or value <= high):  # type: ignore[operator]  # a number
        return
    wanted = f"of at least {low}" if high is None else f"from {low} to {high}"
    raise InvalidInput(f"{name} {shown(value)}", f"use a number {wanted}, or None to leave it open")


def _dim3(name: str, value: object) -> Dim3 | None:
    # A zero passes: the limits' check refuses it together with the workgroup it belongs to.
    if value is None:
        return None
    sizes = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else ()
    whole = [size for size in sizes if isinstance(size, int) and not isinstance(size, bool)]
    if len(sizes) != 3 or len(whole) != 3 or not all(0 <= size <= U32_MAX for size in whole):
        raise InvalidInput(
            f"{name} {shown(value)}", f"give three numbers up to {U32_MAX}, such as (256, 1, 1)"
        )
    x, y, z = whole
    return x, y, z
