"""Calls that are known at sight: one function finds what they launch, and launches it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any

from triton import knobs
from triton.runtime.driver import driver

from vyre.adapter.calls import Entry
from vyre.adapter.failure import Raised
from vyre.adapter.triton.binding import Form, Key, listed
from vyre.adapter.triton.launch import FELL, IS_PLAIN, Prepared, is_blamed
from vyre.adapter.written import written
from vyre.learn import rules

_MISSING = object()

_LINES = f"""\
def sight(grid, {{placed}}/, *more, {{named}}**others):
    if {{alike}} and owner._forms is forms and {{now}} is active and not (more or others):
        {{addresses}}
        device = device_now()
        by = rules.usual or rules.rule()
        told = ({{key}}device, by, runtime.debug, compilation.instrumentation_mode)
        if told != seen:
            another = sights.get(told)
            if another is None:
                if not is_like(told):
                    return unseen(grid, ({{said}}), more, others)
            elif another is not sight:
                forms.call = another
                return another(grid, {{again}})
        if {{on_gpu}} and site.best is best and {IS_PLAIN}:
            owner._latest = entry
            given = ({{given}})
            stream = active.get_current_stream(device)
            tick()
            if site.asked or site.best is not best:
                return counted(given, ({{passed}}), grid, stream)
            along_x, along_y, along_z = blocks.count(grid, given)
            try:
                launch(along_x, along_y, along_z, stream, {{launched}})
            except FELL as error:
                if not is_blamed(error): raise
                fell = error
            else:
                return kernel
            try:
                return instead(fell, given, ({{passed}}), grid, stream)
            finally:
                del fell  # which holds this frame, and the caller's tensors with it
    return unseen(grid, ({{said}}), more, others)
"""


def sight(
    owner: Any, forms: Any, form: Form, key: Key, entry: Entry, best: Prepared, count: int
) -> Callable[..., Any] | None:
    """What makes such calls as `Tuner._launch` does, which makes all others; if it can be had.

    Python itself puts arguments in their places, by parameters that have the form's names, and all
    that is looked up stands in one function, between the user's call and Triton's launcher: an add
    of three tensors takes 2.3 us of the host where functions for each step took 3.5, of which
    Triton's launcher takes 0.3 (Python 3.11).

    Args:
        owner: whose calls they are: a `Tuner`.
        forms: among which theirs is; once its configs are others, these are past.
        form: theirs.
        key: of one that was made.
        entry: where they are launched from.
        best: what launches them.
        count: of what they pass by place; the rest they pass by name.
    """
    names = form.names[count:]
    if not form.devices or not all(map(_is_free, names)):
        return None
    active, like, alike = owner._active, form.like, form.like(key)
    placed = form.given[:count]
    said = (*placed, *names)
    aliases = [f"{word} = {name}" for word, name in zip(form.given[count:], names, strict=True)]
    before = {f"b{at}": one for at, one in enumerate(best.words["before"])}
    constants = {f"c{at}": one for at, one in enumerate(best.constants)}
    lines = _LINES.format(
        placed="".join(f"{word}=missing, " for word in placed),
        named="".join(f"{name}=missing, " for name in names),
        alike=" and ".join(f"type({word}) is T{at}" for at, word in enumerate(said)) or "True",
        now="driver._active" if hasattr(driver, "_active") else "driver.active",
        addresses="; ".join((*aliases, *form.addresses)) or "pass",
        key=form.key,
        said=listed(said),
        again=listed((*placed, *(f"{name}={name}" for name in names))),
        on_gpu=form.on_gpu,
        given=listed(form.given),
        launched=listed((*before, *best.ordered((*form.passed, *constants)))),
        passed=listed(form.passed),
    )

    def is_like(other: Key) -> bool:
        return bool(like(other) == alike)

    def unseen(
        grid: Any, said: Sequence[Any], more: tuple[Any, ...], others: dict[str, Any]
    ) -> Any:
        args = (one for one in said[:count] if one is not _MISSING)
        named = zip(names, said[count:], strict=True)
        kwargs = {name: one for name, one in named if one is not _MISSING}
        return owner._launch(grid, *args, *more, **kwargs, **others)

    def arguments(given: Sequence[Any], passed: Sequence[Any], grid: Any) -> tuple[Any, ...]:
        kwargs = dict(zip(names, given[count:], strict=True))
        return passed, given, grid, given[:count], kwargs

    def counted(given: Sequence[Any], passed: Sequence[Any], grid: Any, stream: int) -> Any:
        return entry.counted(arguments(given, passed, grid), stream)

    def instead(
        error: Exception, given: Sequence[Any], passed: Sequence[Any], grid: Any, stream: int
    ) -> Any:
        raised = Raised(error)
        raised.__cause__ = error
        try:
            return entry.instead(best, raised, arguments(given, passed, grid), stream)
        finally:
            del error, raised

    means = {
        **best.words,
        "owner": owner,
        "forms": forms,
        "driver": driver,
        "active": active,
        "device_now": owner._device,
        "rules": rules,
        "compilation": knobs.compilation,
        "missing": _MISSING,
        "seen": key,
        "sights": form.sights,
        "is_like": is_like,
        "entry": entry,
        "site": entry.site,
        "tick": entry.site.tick,
        "best": best,
        "blocks": best.blocks,
        "kernel": best.kernel,
        "FELL": FELL,
        "is_blamed": is_blamed,
        "unseen": unseen,
        "counted": counted,
        "instead": instead,
        **{f"T{at}": kind for at, kind in enumerate(form.types)},
        **before,
        **constants,
    }
    found: Callable[..., Any] = written(lines.splitlines(), means)
    return found


_WORDS = frozenset(re.findall(r"\w+", re.sub(r"\{\w+\}", "", _LINES))) | {
    "driver",
    "missing",
    "repr",
    "type",
}
_NUMBERED = re.compile(r"[abcpT]\d+")


def _is_free(name: str) -> bool:
    """Whether a parameter may have this name: it is one, and means nothing else in the lines."""
    is_name = name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
    return is_name and name not in _WORDS and not _NUMBERED.fullmatch(name)
