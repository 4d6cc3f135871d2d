"""The policies by name: what a learner may be run by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vyre.errors import InvalidInput
from vyre.model import Config, Schedule
from vyre.plain import shown
from vyre.policy.base import Chooser, Policy
from vyre.policy.baselines import Fixed, Seed
from vyre.policy.belief import Remembered
from vyre.policy.evidence import NOISE
from vyre.policy.natural_live import NaturalGradient
from vyre.policy.natural_step import Step, natural_step_q16
from vyre.policy.plain import Plain
from vyre.policy.resize import Resize
from vyre.policy.seed_cold_start import estimate_cold_start_ns
from vyre.policy.sweep import Sweep

DEFAULT_POLICY = "natural"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a policy is made from."""

    space: tuple[Config, ...]  # the best guess first
    default: Config
    size: int  # of the dispatches, in elements
    remembered: Mapping[Config, Remembered] = field(default_factory=dict)
    step: Step = natural_step_q16
    share: float = 1.0  # of a dispatch, that a try takes
    expected: tuple[float, ...] = ()  # of each of the space: log times over the default's
    risk: float = 0.0  # default dispatches that a launch of the guess may lose
    noise: float = NOISE  # of one log time, before any was repeated


def _natural(given: Given) -> Chooser:
    return NaturalGradient(
        space=given.space,
        default=given.default,
        remembered=given.remembered,
        step=given.step,
        share=given.share,
        expected=given.expected,
        risk=given.risk,
        noise=given.noise,
        noise_before=given.noise,
    )


def _seed(given: Given) -> Policy:
    """The crate knows widths only, and estimates them all; knobs it knows nothing of are open."""
    widths = _widths(given)
    estimates: dict[Config, int] = {
        one: estimate_cold_start_ns(given.size, one.workgroup[0]) for one in widths
    }
    return Seed(widths or given.space, estimates_ns=estimates)


def _resize(given: Given) -> Policy:
    return Resize(widths=_widths(given), default=given.default, elements=given.size)


def _sweep(given: Given) -> Policy:
    return Sweep(given.space)


def _fixed(given: Given) -> Policy:
    return Fixed(given.space, always=given.default)


_PLAIN: dict[str, tuple[Callable[[Given], Policy], str]] = {
    "seed": (_seed, "the seed's policy"),
    "resize": (_resize, "the seed's resize policy"),
    "sweep": (_sweep, "the sweep"),
    "fixed": (_fixed, "the fixed policy"),
}
"""A new policy is one module and one line here."""

NAMES = (DEFAULT_POLICY, *_PLAIN)


def policy_name(word: object) -> str:
    """The policy that `word` names, whatever its case.

    >>> policy_name("Sweep")
    'sweep'

    Raises:
        InvalidInput: it names none.
    """
    name = word.strip().lower() if isinstance(word, str) else ""
    if name not in NAMES:
        raise InvalidInput(f"no policy {shown(word)}", f"use one of {', '.join(NAMES)}")
    return name


def make(name: str, given: Given) -> Chooser:
    """The policy of that name over a space."""
    if name == DEFAULT_POLICY:
        return _natural(given)
    made, word = _PLAIN[name]
    return Plain(policy=made(given), space=given.space, default=given.default, word=word)


def _widths(given: Given) -> tuple[Schedule, ...]:
    """The candidates that differ from the default in their width alone, the narrowest first."""
    base = given.default
    if not isinstance(base, Schedule):
        return ()
    rows = [
        one
        for one in given.space
        if isinstance(one, Schedule) and one.code == base.code and one.workgroup[1:] == (1, 1)
    ]
    return tuple(sorted(rows, key=lambda one: one.workgroup))
