"""Fits how far times differ from those that the guess expects, as `belief.Prior` says it.

    PYTHONPATH=src python scripts/fit_prior.py

Reads benchmarks/data/spaces-*.json.gz and prints the prior under which the recorded times of what a
learner keeps of each space are most likely, given what the guess expects of them. The level of each
space is free. It takes about a minute. Choices were no better with it, so that nothing reads what
it prints (docs/design/0022).
"""

# mypy: ignore-errors  # as the script that reads the recordings

from __future__ import annotations

from dataclasses import asdict, fields, replace

import numpy as np
from fit_guess import Recorded, expected, read
from fitting import DATA, files_of

from vyre.learn.pace import Pace
from vyre.plan.guess import ALIKE
from vyre.plan.guess.device import KNOWN, Known
from vyre.plan.guess.model import Figures
from vyre.plan.guess.ranking import ranked
from vyre.policy.belief import Belief, Prior

FREE = ("smooth", "reach", "rough", "own", "scale_spread")
LEAST = 1e-3  # below which a part of a prior is as good as none
STEPS = (0.5, 0.25, 0.12, 0.06, 0.03)  # of logarithms, coarse to fine
WIDEST = {"reach": 8.0}  # doublings: beyond, all of a space is near


class Kept:
    """What a learner keeps of one recorded space."""

    def __init__(self, one: Recorded, known: Known) -> None:
        figures = Figures(units=known.units, unit_threads=known.unit_threads)
        guess = ranked(one.space, expected(one, known.constants, figures), ALIKE)
        most = Pace().guessed
        places = [at for at, s in enumerate(guess.ordered) if at < most or s == one.space.default]
        self.space = tuple(guess.ordered[at] for at in places)
        self.expected = tuple(guess.expected[at] for at in places)
        times = dict(zip(one.space.legal, one.times, strict=True))
        ratios = np.log([times[s] / one.default_ns for s in self.space])
        self.missed = ratios - np.array(self.expected)

    def surprise(self, prior: Prior) -> float:
        """Minus the log likelihood of its times."""
        covariance = Belief.of(self.space, prior, expected=self.expected).covariance
        root = np.linalg.cholesky(covariance)
        return float(
            (np.linalg.solve(root, self.missed) ** 2).sum() / 2 + np.log(np.diag(root)).sum()
        )


def fitted(spaces: list[Kept], start: Prior) -> tuple[Prior, float]:
    """The likeliest prior, one number after another by steps that become finer."""

    def surprise(prior: Prior) -> float:
        return sum(one.surprise(prior) for one in spaces) / sum(len(one.space) for one in spaces)

    best, least = start, surprise(start)
    for step in STEPS:
        better = True
        while better:
            better = False
            for name in FREE:
                for factor in (np.exp(step), np.exp(-step)):
                    moved = getattr(best, name) * factor
                    moved = float(min(max(moved, LEAST), WIDEST.get(name, np.inf)))
                    tried = replace(best, **{name: moved})
                    found = surprise(tried)
                    if found < least - 1e-5:
                        best, least, better = tried, found, True
    return best, least


def main() -> None:
    for path in files_of(DATA):
        device, recorded = read(path)
        if not recorded:
            continue
        known = next(one for one in KNOWN if one.model == device["model"])
        spaces = [Kept(one, known) for one in recorded]
        start = Prior()
        before = sum(one.surprise(start) for one in spaces) / sum(len(o.space) for o in spaces)
        prior, after = fitted(spaces, start)
        print(
            f"{device['model']}: {len(spaces)} spaces, log likelihood of a time "
            f"{-before:.3f} by the prior without a fit, {-after:.3f} fitted"
        )
        changed = {f.name: asdict(prior)[f.name] for f in fields(Prior) if f.name in FREE}
        print(f"Prior({', '.join(f'{name}={value:.3g}' for name, value in changed.items())})")


if __name__ == "__main__":
    main()
