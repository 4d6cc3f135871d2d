"""`vyre tune kernel.cu --params params.json`: sources with macros, and T1 descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from vyre.adapter.template.description import Description, described_by, described_by_t1
from vyre.adapter.template.source import LANGUAGES
from vyre.adapter.template.templated import Template, template
from vyre.cli.tune import MORE, Outcome, Piece, Show, Tuned, tune_each
from vyre.errors import InvalidInput, VyreError
from vyre.learn import process
from vyre.model import Reason
from vyre.runtime.call.tune import answers
from vyre.runtime.devices.device import Device

_SOURCES = tuple(end for ends in LANGUAGES.values() for end in ends)


def is_description(word: str) -> bool:
    """Whether a word of the command names a source with macros, or a description of one."""
    return word.endswith((*_SOURCES, ".json"))


def described(
    words: Sequence[str], params: Path | None, t1: Path | None = None
) -> tuple[Description, ...]:
    """What the words of the command describe: a source and its parameters, or T1 files.

    Raises:
        InvalidInput: they are something else, or a file is.
    """
    sources = [word for word in words if word.endswith(_SOURCES)]
    if params is not None:
        if len(words) != 1 or not sources or t1 is not None:
            raise InvalidInput(
                f"--params {params} for {', '.join(words) or 'no kernel'}",
                "name one source, such as vyre tune kernel.cu --params params.json",
            )
        return (described_by(Path(sources[0]), params),)
    if sources:
        raise InvalidInput(
            f"{sources[0]} without its parameters",
            f"name them in a file: vyre tune {sources[0]} --params params.json",
        )
    for word in words:
        if not is_description(word):
            raise InvalidInput(
                f"{word} beside a description in JSON", "tune kernels of the two kinds in turn"
            )
    files = [*map(Path, words), *([] if t1 is None else [t1])]
    return tuple(described_by_t1(file) for file in files)


def tune_described(
    found: Sequence[Description],
    device: Device | None,
    *,
    budget_s: float,
    again: bool,
    console: Console,
) -> Outcome:
    """Tune each, on its device, sharing the time between them.

    Raises:
        InvalidInput: one describes no template, or they ask for several devices.
    """
    made = [(one, template(one.source, one.name, device=device, **one.given)) for one in found]
    devices = {each.device.name: each.device for _, each in made}
    if len(devices) > 1:
        raise InvalidInput(
            f"kernels for {' and '.join(devices)}", "tune those of each device in turn"
        )
    (where,) = devices.values()
    pieces = [Piece(each.name, partial(_tune, each, one, where)) for one, each in made]
    return tune_each(pieces, where, budget_s=budget_s, again=again, console=console)


def _tune(
    each: Template,
    described: Description,
    device: Device,
    share_s: float,
    even_s: float,
    show: Show,
) -> Tuned:
    size = max((one.size for one in described.arguments), default=1)
    try:
        arguments: list[Any] = [
            device.array(one) if isinstance(one, np.ndarray) else one for one in described.arguments
        ]
        asked = each.decision(*arguments)
        known = process.recorder().get(asked.workload)
        if known is not None and even_s and answers(known, even_s / MORE):
            decision = replace(known, reason=Reason.REMEMBERED)
        else:
            decision = each.tune(
                *arguments, budget_s=share_s, progress=lambda news: show(each.name, news)
            )
    except VyreError as error:
        return Tuned(kernel=each.name, elements=size, trouble=str(error))
    recorder, configs = process.recorder(), each.space.configs
    default = decision.default if decision.default is not None else configs[0]
    evidence = recorder.evidence(decision.workload, frozenset(configs), default)
    return Tuned(
        kernel=each.name,
        elements=evidence.size or size,
        decision=evidence.weigh(decision),
        default_ns=evidence.time_of(default),
        tuned_ns=evidence.time_of(decision.config),
        undecided=recorder.get(decision.workload) is None,
        dropped=tuple(
            f"{config.text}: {reason}"
            for one in each.explain().workloads
            for config, reason in one.failures.items()
        ),
    )
