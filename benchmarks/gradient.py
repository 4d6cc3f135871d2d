"""Whether the natural gradient matters: rules for the next probe, with all else alike.

The policy's belief, worth and budget stand; only what rates the candidates changes. A cost is (time
of the first N dispatches) / (N x the best time), the geometric mean over spaces and seeds; beside
it, in per cent, how much more that is than by the gradient, with a 95 % interval by bootstrap over
paired runs: the same tables, and the n-th time of a schedule is the same whoever asks for it.
After 100 dispatches one in ten is timed. `at once`: so many are launched before a time is back;
`each alone` takes the highest rated, `supposing` each as if those before had been timed.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median

import numpy as np
from measure import save
from numpy.typing import NDArray
from regret import LONG, SHORT, Table, tables

from vyre.backend.replay import Noise
from vyre.model import Code, Failed, Outcome, Reason, Schedule, Timed
from vyre.policy.belief import Belief, Vector
from vyre.policy.natural_live import NaturalGradient
from vyre.policy.natural_step import Rate, natural_gradient_q16, worth

Places = NDArray[np.intp]
DATA = Path(__file__).parent / "data"
NOISE = Noise(spread=0.03)
ONE_IN = 10
"""Dispatches of which one is timed, after the first hundred."""


def apart(belief: Belief, places: Places, best: int) -> NDArray[np.float64]:
    """The covariance of what differs from the fastest."""
    covariance, shared = belief.covariance, belief.covariance[places, best]
    inner = covariance[np.ix_(places, places)] - shared[:, None] - shared[None, :]
    return inner + covariance[best, best]


def softmax(belief: Belief, places: Places, best: int, noise: float) -> Vector:
    """The gradient's own weights, in floats: what is left of it with the identity for Fisher."""
    spread = np.trace(apart(belief, places, best)) / places.size
    mean = belief.mean[places]
    weights = np.exp((mean.min() - mean) / (0.5 * max(math.sqrt(max(spread, 0.0)), noise)))
    return weights / weights.sum()


def fastest(belief: Belief, places: Places, best: int, noise: float) -> Vector:  # noqa: ARG001  # a Rate
    return -belief.mean[places]


def most_worth(belief: Belief, places: Places, best: int, noise: float) -> Vector:  # noqa: ARG001  # a Rate
    return -np.arange(places.size)


def _generator(belief: Belief) -> np.random.Generator:
    """One that depends on what is believed alone, so that a rule stays a function."""
    return np.random.default_rng(np.abs(belief.mean).view(np.uint64))


def anyone(belief: Belief, places: Places, best: int, noise: float) -> Vector:  # noqa: ARG001  # a Rate
    return _generator(belief).random(places.size)


def telling(belief: Belief, places: Places, best: int, noise: float) -> Vector:
    """The whole inverse of the Fisher matrix: what a time tells of the softmax's mean time."""
    inner = apart(belief, places, best)
    return (inner @ softmax(belief, places, best, noise)) ** 2 / (np.diag(inner) + noise**2)


def drawn(belief: Belief, places: Places, best: int, noise: float) -> Vector:  # noqa: ARG001  # a Rate
    """The root of the inverse times normal numbers: one draw from the belief (Thompson)."""
    values, vectors = np.linalg.eigh(apart(belief, places, best))
    normal = _generator(belief).standard_normal(places.size)
    return -belief.mean[places] - vectors @ (np.sqrt(np.maximum(values, 0.0)) * normal)


PRESENT = "gradient"
RULES: dict[str, Rate] = {
    PRESENT: natural_gradient_q16,
    "fastest": fastest,
    "identity": softmax,
    "worth": most_worth,
    "random": anyone,
    "telling": telling,
    "drawn": drawn,
}
SAME = "identity"
"""Orders candidates as the believed times do, so it is run once, to show that."""

FEW = (PRESENT, "fastest", "worth", "random", "telling")


class EachAlone(NaturalGradient):
    """Chooses each of a batch by what is known, whatever else is under way."""

    def _supposing(self, place: int, loss: float) -> NaturalGradient:  # noqa: ARG002  # the seam's
        return replace(self, budget=replace(self.budget, lost=self.budget.lost + max(loss, 0.0)))


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What differs between the questions asked."""

    tables: Callable[[int], list[Table]]
    noise: Noise = NOISE
    spreads: tuple[float, ...] = ()  # of each schedule one, instead of the noise's
    failing: float = 0.0
    at_once: int = 1
    seeds: int = 1  # times those asked for: where runs differ much


class Device:
    """A table whose n-th time of a schedule is the same whenever it is asked for."""

    def __init__(self, table: Table, scene: Scene, seed: int) -> None:
        kinds, self._seed = Random(f"{table.name} {seed} kinds"), f"{table.name} {seed}"
        self._noise, self._rngs = {}, {}
        self.times_ns = dict(table.times_ns)
        for schedule in table.guess:
            spread = kinds.choice(scene.spreads or (scene.noise.spread,))
            self._noise[schedule] = replace(scene.noise, spread=spread)
            if kinds.random() < scene.failing and schedule != table.default:
                del self.times_ns[schedule]
        self.default_ns, self.best_ns = table.times_ns[table.default], min(self.times_ns.values())
        self.spent_ns = 0.0

    def launch(self, schedule: Schedule) -> Outcome:
        """One dispatch; where it fails, the default runs in its place."""
        self.spent_ns += self.times_ns.get(schedule, self.default_ns)
        if schedule not in self.times_ns:
            return Failed(schedule, "too many registers")
        rng = self._rngs.setdefault(schedule, Random(f"{self._seed} {schedule.text}"))
        return Timed(schedule, self._noise[schedule].seen(self.times_ns[schedule], rng))

    def run(self, schedule: Schedule, dispatches: int) -> None:
        """Dispatches that nobody times."""
        self.spent_ns += dispatches * self.times_ns[schedule]


def run(policy: NaturalGradient, device: Device, at_once: int) -> tuple[float, ...]:
    """The logs of the costs of the first 100 and 1000 dispatches."""
    done, costs = 0, []
    for until in (SHORT, LONG):
        while done < until:
            choices = policy.choose_batch(at_once)
            kept = policy.incumbent().config
            told = [device.launch(choice.config) for choice in choices]
            rest = at_once * (1 if done < SHORT else ONE_IN) - len(choices)
            device.run(kept, rest)
            done += len(choices) + rest
            for outcome in told:
                policy = policy.tell(outcome)
            policy = policy.ran(kept, rest)
        costs.append(math.log(device.spent_ns / (done * device.best_ns)))
    return tuple(costs)


def runs(kind: type[NaturalGradient], rate: Rate, scene: Scene, seeds: int) -> Vector:
    """Of each seed and space both costs."""
    return np.array(
        [
            [
                run(
                    kind(space=table.guess, default=table.default, rate=rate),
                    Device(table, scene, seed),
                    scene.at_once,
                )
                for table in scene.tables(seed)
            ]
            for seed in range(seeds * scene.seeds)
        ]
    )


class Steepest:
    """The gradient, and the largest entry that it had last."""

    last = 0.0

    def __call__(self, belief: Belief, places: Places, best: int, noise: float) -> Vector:
        found = natural_gradient_q16(belief, places, best, noise)
        self.last = float(found.max())
        return found


TURNS, BY_WORTH, BY_STEP = "in turn", "most worth first", "steepest first"


class Together:
    """Workloads that share a budget: of the calls of a round one may be timed.

    Defaults take equally long; how often each workload is called falls as 1, 1/2, 1/3 and so on.
    """

    def __init__(self, scene: Scene, seed: int, rate: Rate, turns: str) -> None:
        self._tables, self._turns = scene.tables(seed), turns
        self._rates = [Steepest() if turns == BY_STEP else rate for _ in self._tables]
        self._policies = [
            NaturalGradient(space=table.guess, default=table.default, rate=rate)
            for table, rate in zip(self._tables, self._rates, strict=True)
        ]
        self._devices = [Device(table, scene, seed) for table in self._tables]
        self._rng, self._next = Random(f"calls {seed}"), 0
        self._often = [1 / (rank + 1) for rank in range(len(self._tables))]
        self._rng.shuffle(self._often)
        self._shared = self._policies[0].budget

    def costs(self) -> tuple[float, ...]:
        """The logs of the costs of 100 and 1000 dispatches of each workload on average."""
        done, spent, least, costs = 0, 0.0, 0.0, []
        for until in (SHORT, LONG):
            while done < until * len(self._tables):
                called = self._rng.choices(range(len(self._tables)), self._often, k=ONE_IN)
                taken, best = self._round({at: called.count(at) for at in sorted(set(called))})
                done, spent, least = done + ONE_IN, spent + taken, least + best
            costs.append(math.log(spent / least))
        return tuple(costs)

    def _round(self, called: dict[int, int]) -> tuple[float, float]:
        for at in called:
            own = self._policies[at].budget.worst
            self._policies[at] = replace(
                self._policies[at], budget=replace(self._shared, worst=own)
            )
        asked = {at: self._policies[at].choose() for at in called}
        due = [at for at, choice in asked.items() if choice.measures]
        timed = max(due, key=lambda at: self._claim(at, asked[at]), default=None)
        self._next = self._next if timed is None else timed + 1
        spent = best = 0.0
        for at, count in called.items():
            policy, device = self._policies[at], self._devices[at]
            kept, before = policy.incumbent().config, device.spent_ns
            shared = self._shared
            policy = replace(policy, budget=replace(shared, worst=policy.budget.worst))
            if at == timed:
                policy = policy.tell(device.launch(asked[at].config))
            rest = count - (at == timed)
            device.run(kept, rest)
            self._policies[at] = policy = policy.ran(kept, rest)
            self._shared = policy.budget
            spent += (device.spent_ns - before) / device.default_ns
            best += count * device.best_ns / device.default_ns
        return spent, best

    def _claim(self, at: int, choice: object) -> tuple[bool, float]:
        policy = self._policies[at]
        first = choice.reason is not Reason.PROBE
        if self._turns == TURNS or first:
            return first, -((at - self._next) % len(self._tables))
        ahead = max(policy.dispatches / 2, 30)  # as the policy expects
        if self._turns == BY_STEP:
            return first, ahead * self._rates[at].last
        kept = policy.place[policy.incumbent().config]
        return first, float(
            worth(policy.belief, kept, policy.noise, ahead)[policy.place[choice.config]]
        )


def others(rows: list[dict], seed: int, count: int = 128) -> list[Table]:
    """Spaces of other tools, each seed some of them: their order is no guess at all."""
    found = []
    for row in rows:
        name = f"{row['kernel']} {row['device']} {seed}"
        times = {
            Schedule((x, y, 1), Code(items=i, vector=v, unroll=u, checked=bool(c))): 1e3 * us
            for x, y, i, v, u, c, us in Random(name).sample(row["rows"], count)
        }
        default = sorted(times, key=times.__getitem__)[count // 4]
        found.append(Table(name, 1, times, tuple(times), default))
    return found


def beyond(ours: Vector, theirs: Vector) -> dict[str, object]:
    """Costs, and how much they exceed others in per cent with a 95 % interval."""
    more = ours - theirs
    seeds, spaces = more.shape[:2]
    rng = np.random.default_rng(0)
    picked = rng.integers(seeds, size=(2000, seeds, spaces))
    drawn_ = more[picked, np.arange(spaces)].mean(axis=(1, 2))
    found = {}
    for at, label in enumerate((f"N={SHORT}", f"N={LONG}")):
        low, high = np.quantile(drawn_[:, at], (0.025, 0.975))
        exponents = (more[..., at].mean(), low, high)
        found[label] = {
            "cost": round(math.exp(ours[..., at].mean()), 4),
            "more, %": [round(100 * math.expm1(value), 2) for value in exponents],
        }
    return found


def report(title: str, rows: Iterable[tuple[str, Callable[[], Vector]]]) -> dict[str, object]:
    """Print a table as it is made; the first row is what the others are compared with."""
    print(f"\n{title}\n{'':26}{'N=100':7}{'more, %':20}{'N=1000':7}more, %")
    found, reference = {}, None
    for name, make in rows:
        ours = make()
        reference = ours if reference is None else reference
        found[name] = beyond(ours, reference)
        cells = []
        for side in found[name].values():
            middle, low, high = side["more, %"]
            interval = f"{middle:+.2f} [{low:+.2f} {high:+.2f}]" if ours is not reference else ""
            cells.append(f"{side['cost']:6.4f} {interval:20}")
        print(f"{name:26}{''.join(cells)}".rstrip(), flush=True)
    return {"runs of each": int(reference[..., 0].size), **found}


def call_us(call: Callable[[], object]) -> float:
    """The median time of a call, in microseconds."""
    times = []
    for _ in range(300):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return round(1e6 * median(times), 1)


def prices(table: Table) -> dict[str, float]:
    """Microseconds of rating 24 of 128 schedules, and of what stands around it."""
    policy = NaturalGradient(space=table.guess, default=table.default)
    for _ in range(3):
        policy = policy.tell(Timed(table.default, 1000.0))
    places = np.arange(1, 25)
    found = {
        name: call_us(lambda rate=rate: rate(policy.belief, places, 0, policy.noise))
        for name, rate in RULES.items()
    }
    found["choose"] = call_us(policy.choose)
    found["choose by fastest"] = call_us(replace(policy, rate=fastest).choose)
    found["choose_batch of 4"] = call_us(lambda: policy.choose_batch(4))
    found["choose_batch of 16"] = call_us(lambda: policy.choose_batch(16))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--print-only", action="store_true", help="write no result")
    given = parser.parse_args()
    ours = tables(DATA / "h200-schedules.json")
    rows = json.loads((DATA / "other-spaces.json").read_text())["spaces"]
    h200 = Scene(tables=lambda _: ours)
    other = Scene(tables=lambda seed: others(rows, seed), seeds=4)
    mixed = replace(
        h200, noise=Noise(spread=0.03, outliers=0.05), spreads=(0.01, 0.05, 0.15), seeds=2
    )
    results = {}
    singles = {
        "H200, one at a time": h200,
        "noise of 1, 5 or 15 % by schedule, 5 % of times tripled": mixed,
        "two modes, 20 % apart": replace(h200, noise=Noise(spread=0.02, mode=1.2)),
        "a quarter of the schedules fails": replace(h200, failing=0.25),
        "spaces of other tools, one at a time": other,
    }
    for title, scene in singles.items():
        results[title] = report(
            title,
            (
                (
                    name,
                    lambda rate=rate, scene=scene: runs(NaturalGradient, rate, scene, given.seeds),
                )
                for name, rate in RULES.items()
                if name != SAME or scene is h200
            ),
        )
    batches = {
        "H200, 4 at once": replace(h200, at_once=4),
        "H200, 16 at once": replace(h200, at_once=16),
        "spaces of other tools, 8 at once": replace(other, at_once=8),
    }
    for title, scene in batches.items():
        results[title] = report(
            title,
            (
                (
                    f"{name}, {way}",
                    lambda name=name, kind=kind, scene=scene: runs(
                        kind, RULES[name], scene, given.seeds
                    ),
                )
                for way, kind in (("each alone", EachAlone), ("supposing", NaturalGradient))
                for name in FEW
            ),
        )
    title = f"{len(ours)} workloads share a budget"
    ways = [(name, TURNS) for name in FEW] + [(PRESENT, BY_WORTH), (PRESENT, BY_STEP)]
    results[title] = report(
        title,
        (
            (
                f"{name}, {turns}",
                lambda name=name, turns=turns: np.array(
                    [
                        [Together(h200, seed, RULES[name], turns).costs()]
                        for seed in range(given.seeds)
                    ]
                ),
            )
            for name, turns in ways
        ),
    )
    us = prices(others(rows, 0)[0])
    print("\nmicroseconds, 128 schedules: " + ", ".join(f"{k} {v:g}" for k, v in us.items()))
    if not given.print_only:
        save("gradient", {**results, "microseconds": us}, seeds=given.seeds)


if __name__ == "__main__":
    main()
