"""Triton's configurations as the learner has them, and which of them a call may run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from triton.runtime.autotuner import Autotuner, Config
from triton.runtime.errors import AutotunerError
from triton.runtime.jit import JITCallable

from vyre.adapter.triton.source import shown_constant
from vyre.errors import InvalidInput
from vyre.model import Knobs, is_setting
from vyre.plain import shown

_PRUNING = ("perf_model", "top_k", "early_config_prune")

Settings = Mapping[str, Any]
"""What a config passes to a kernel and its compiler, by name."""


def named(configs: Iterable[Config]) -> dict[Knobs, Config]:
    """Each config by what it sets; what is given twice counts once.

    >>> [one.text for one in named([Config({"B": 64}), Config({"B": 64})])]
    ['B=64, num_warps=4, num_ctas=1, num_stages=3']
    """
    given = list(configs)
    names = dict.fromkeys(name for one in given for name in _settings(one))
    found: dict[Knobs, Config] = {}
    for one in given:
        settings = _settings(one)
        whole = {name: settings.get(name, "none") for name in names}
        knobs, variant = Knobs.of(whole), 1
        while knobs in found and found[knobs] != one:  # they differ in what has no plain text
            variant += 1
            knobs = Knobs.of({**whole, "variant": variant})
        found.setdefault(knobs, one)
    return found


def overridden(configs: Mapping[Knobs, Config], given: Iterable[str]) -> dict[Knobs, Settings]:
    """What each config sets of a call that says some of it itself; equal ones count once."""
    said = set(given)
    found: dict[Any, tuple[Knobs, Settings]] = {}
    for knobs, one in configs.items():
        settings = {n: value for n, value in one.all_kwargs().items() if n not in said}
        same = tuple(pair for pair in knobs.settings if pair[0] not in said)
        found.setdefault(Knobs(same), (knobs, settings))
    return dict(found.values())


def pruned(tuner: Autotuner, nargs: Settings, kwargs: Settings) -> Sequence[Config]:
    """The configs that `prune_configs_by` leaves of a call, as Triton asks for them."""
    left = tuner.configs
    if tuner.early_config_prune:
        left = tuner.early_config_prune(tuner.configs, nargs, **kwargs)
        if not left:
            raise AutotunerError(
                "No valid autotuner configs after pruning. "
                "`early_config_prune` should return at least one config."
            )
    if not tuner.perf_model:
        return left  # type: ignore[no-any-return]  # Triton has no types
    most = tuner.configs_top_k
    if isinstance(most, float) and most <= 1.0:
        most = max(int(len(tuner.configs) * most), 1)  # a share of few is still one
    elif not isinstance(most, int):
        raise TypeError(
            "Error while pruning configs, top_k must be either 1) a float <= 1.0 or 2) an int"
        )
    if most == 0:
        raise InvalidInput(
            f"top_k=0 of {tuner.base_fn.__name__}, which leaves none of its configs",
            "give how many to leave, at least 1",
        )
    if len(left) <= most:
        return left  # type: ignore[no-any-return]  # Triton has no types
    expected = [(tuner.perf_model(**nargs, **kwargs, **one.all_kwargs()), one) for one in left]
    return [one for _, one in sorted(expected, key=lambda pair: pair[0])[:most]]


def checked(configs: Iterable[Any], name: str) -> list[Config]:
    """Configs, every one of Triton's."""
    if isinstance(configs, Config) or not isinstance(configs, Iterable):
        raise InvalidInput(f"configs={shown(configs)} of {name}", "give a list of configs")
    found = list(configs)
    for one in found:
        if not isinstance(one, Config):
            raise InvalidInput(
                f"a config of {name} that is {shown(one)}",
                'give each as one of Triton\'s, such as Config({"BLOCK": 128}, num_warps=4)',
            )
    return found


def refuse_unknown_pruning(given: Any, of: str) -> None:
    """Refuse a word of `prune_configs_by` that Triton would pass over without one.

    Raises:
        InvalidInput: there is one.
    """
    known = ", ".join(_PRUNING)
    if given and not isinstance(given, Mapping):
        raise InvalidInput(f"prune_configs_by={shown(given)} of {of}", f"give a mapping of {known}")
    for one in given or ():
        if one not in _PRUNING:
            raise InvalidInput(
                f"prune_configs_by= of {of} has {shown(one)}", f"give some of {known}"
            )


def names_of(key: Any, names: Sequence[str], of: str) -> list[str]:
    """The names of a key, each of which is an argument."""
    if key is None:
        return []
    found = [key] if isinstance(key, str) else key
    if not isinstance(found, Iterable):
        raise InvalidInput(f"key={shown(key)} of {of}", "give a list of names of arguments")
    found = list(found)
    refuse_unknown(found, names, f"key= of {of}")
    return found


def refuse_unknown(given: Iterable[Any], names: Sequence[str], what: str) -> None:
    """Refuse names that are no arguments of a kernel.

    Raises:
        InvalidInput: one is none.
    """
    for one in given:
        if one not in names:
            raise InvalidInput(
                f"{what} names {shown(one)}, which is no argument of the kernel",
                f"name some of {', '.join(names) or 'its arguments, of which there are none'}",
            )


def functions_of(configs: Iterable[Config]) -> list[str]:
    """The kernels among what configs set, each with its source."""
    values = [one for config in configs for one in config.kwargs.values()]
    return list(dict.fromkeys(shown_constant(n) for n in values if isinstance(n, JITCallable)))


def _settings(config: Config) -> dict[str, Any]:
    """What a config sets, as plain values and texts."""
    settings = {name: _plain(value) for name, value in config.all_kwargs().items()}
    if config.pre_hook is not None:
        hook = config.pre_hook
        settings["pre_hook"] = str(getattr(hook, "__qualname__", type(hook).__qualname__))
    return settings


def _plain(value: Any) -> int | float | str | bool:
    if type(value) in (int, float, bool, str) and is_setting(value):
        return value  # type: ignore[no-any-return]  # one of these
    named = getattr(value, "__qualname__", None)  # of a function, whose text holds an address
    return f"{type(value).__name__} {named or value!r}"
