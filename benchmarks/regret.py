"""What learning costs: policies on measured tables, against always launching the best schedule.

Each space is a kernel at a size; its table holds the device time of every schedule. A policy is run
for N dispatches; what it launches costs the table's time, what it is told carries noise. A figure
is (cost of the first N dispatches) / (N x the best time), the geometric mean over spaces, averaged
over seeds; `worst` is the worst space at N = 1000. Compiling is instantaneous, and again 36 ms
per code on one helper, what is not ready giving way to what is; the first call has built what a
program's first call builds.
"""

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean

from measure import save

from vyre import kernels
from vyre.analysis import analyse
from vyre.backend.replay import Noise, Replay
from vyre.backend.replayed import GPU, Replayed
from vyre.model import Code, Schedule
from vyre.plan.guess import guess, risk
from vyre.plan.space import space
from vyre.plan.vectors import LaunchTraits
from vyre.policy.base import Policy
from vyre.policy.baselines import EpsilonGreedy, Fixed, Seed, Thompson, Ucb
from vyre.policy.natural_live import NaturalGradient
from vyre.policy.seed_cold_start import WORKGROUP_CANDIDATES, estimate_cold_start_ns
from vyre.policy.sweep import Sweep
from vyre.runtime.devices.launcher import Numbers

H200 = replace(GPU, model="NVIDIA H200")
NOISES = {
    "3 % noise": Noise(spread=0.03),
    "and 5 % of times tripled": Noise(spread=0.03, outliers=0.05),
}
COMPILE_NS = 36e6
SHORT, LONG = 100, 1000


@dataclass(frozen=True)
class Table:
    """One kernel at one size, its schedules in the order of the guess."""

    kernel: str
    elements: int
    times_ns: dict[Schedule, float]
    guess: tuple[Schedule, ...]
    expected: tuple[float, ...]  # by the guess
    risk: float
    default: Schedule

    @property
    def name(self) -> str:
        return f"{self.kernel} 2^{self.elements.bit_length() - 1}"

    @property
    def best(self) -> Schedule:
        return min(self.times_ns, key=self.times_ns.__getitem__)


def tables(path: Path) -> list[Table]:
    programs = {kernel.name: kernel.program for kernel in kernels.ALL}
    found = []
    for row in json.loads(path.read_text())["spaces"]:
        program, n = programs[row["kernel"]], row["elements"]
        facts = analyse(program)
        arrays = [decl for decl in program.buffers if not decl.is_scalar_argument]
        launch = Numbers((n, 1, 1), {decl.name: (decl.count or n,) for decl in arrays}, {})
        aligned = LaunchTraits({decl.name: 256 for decl in arrays})
        legal = space(facts, program, launch, H200.limits, H200.kind, None, aligned)
        times = {
            Schedule((block, 1, 1), Code(items=items, vector=vector, checked=False)): 1e3 * us
            for vector, items, block, us in row["rows"]
        }
        guessed = guess(legal, program, facts, H200, launch)
        of = {
            schedule: at
            for schedule, at in zip(guessed.ordered, guessed.expected, strict=True)
            if schedule in times
        }
        # What the project would not offer (16 items) may be tried, after all that it would.
        last = max(of.values())
        of |= {schedule: last for schedule in times if schedule not in of}
        default = Schedule((256, 1, 1), Code(checked=False))
        expected = tuple(of.values())
        charged = risk(H200, -expected[0])
        found.append(Table(row["kernel"], n, times, tuple(of), expected, charged, default))
    return found


def built_first(table: Table) -> list[Schedule]:
    """One schedule of each code that a program's first call builds."""
    codes = {table.guess[0].code: table.guess[0], table.default.code: table.default}
    for schedule in table.guess:
        if len(codes) < Replayed.builds_first:
            codes.setdefault(schedule.code, schedule)
    return list(codes.values())


def seed_policy(table: Table) -> Policy:
    """The crate knows widths only, and estimates them all."""
    widths = {Schedule((w, 1, 1), table.default.code): w for w in WORKGROUP_CANDIDATES}
    estimates = {
        schedule: estimate_cold_start_ns(table.elements, width)
        for schedule, width in widths.items()
        if schedule in table.times_ns
    }
    return Seed(tuple(estimates), estimates_ns=estimates)


POLICIES: dict[str, Callable[[Table], Policy]] = {
    "natural gradient": lambda t: NaturalGradient(
        space=t.guess, default=t.default, expected=t.expected, risk=t.risk
    ),
    "and no times expected": lambda t: NaturalGradient(space=t.guess, default=t.default),
    "the seed's": seed_policy,
    "full sweep": lambda t: Sweep(t.guess, repeats=1, hopeless=math.inf),
    "epsilon-greedy": lambda t: EpsilonGreedy(t.guess),
    "UCB": lambda t: Ucb(t.guess),
    "Thompson": lambda t: Thompson(t.guess),
    "fixed: the default": lambda t: Fixed(t.guess, always=t.default),
    "fixed: the guess": lambda t: Fixed(t.guess),
    "oracle": lambda t: Fixed(t.guess, always=t.best),
}


def ask(policy: Policy, rng: Random, device: Replay, default: Schedule) -> Schedule:
    """What the policy launches now; what it misses is compiled, one code after the other."""
    if not device.compile_ns:
        return policy.ask(rng)
    ready = device.ready
    if isinstance(policy, NaturalGradient):
        if not device.compiling:
            device.compile(policy.wanted(1, ready))
        return policy.ask(rng, ready)
    wanted = policy.ask(rng)
    if wanted in ready:
        return wanted
    device.compile([wanted])
    return default


def run(table: Table, make: Callable[[Table], Policy], device: Replay, rng: Random) -> list[float]:
    """The cost ratios after 100 and 1000 dispatches, and the most lost beyond 1 % of the time."""
    policy, best = make(table), table.times_ns[table.best]
    default = table.times_ns[table.default]
    acts = isinstance(policy, NaturalGradient) and bool(policy.expected)
    first = built_first(table) if acts else [table.default]
    device.compile(first)
    device.clock_ns = start = len(first) * device.compile_ns
    ratios, lost = [], 0.0
    for count in range(1, LONG + 1):
        policy = policy.tell(device.launch(ask(policy, rng, device, table.default)))
        spent = device.clock_ns - start
        lost = max(lost, (0.99 * spent - count * default) / default)
        if count in (SHORT, LONG):
            ratios.append(spent / (count * best))
    return [*ratios, lost]


def compare(
    spaces: list[Table],
    make: Callable[[Table], Policy],
    noise: Noise,
    compile_ns: float,
    seeds: int,
) -> dict[str, object]:
    rows = {}
    for table in spaces:
        runs = [
            run(
                table,
                make,
                Replay(
                    table.times_ns, noise, Random(f"{table.name} {seed}"), compile_ns=compile_ns
                ),
                Random(seed),
            )
            for seed in range(seeds)
        ]
        short, long, lost = zip(*runs, strict=True)
        rows[table.name] = [round(fmean(short), 4), round(fmean(long), 4), round(max(lost), 2)]
    return {
        "N=100": round(math.exp(fmean(math.log(row[0]) for row in rows.values())), 4),
        "N=1000": round(math.exp(fmean(math.log(row[1]) for row in rows.values())), 4),
        "worst space at N=1000": max(row[1] for row in rows.values()),
        "most default dispatches lost": max(row[2] for row in rows.values()),
        "spaces": rows,
    }


def main() -> None:
    here = Path(__file__).parent / "data" / "h200-schedules.json"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, default=here)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--policies", default="", help="names, by comma; all without it")
    parser.add_argument("--print-only", action="store_true", help="write no result")
    given = parser.parse_args()
    spaces = tables(given.table)
    chosen = given.policies.split(",") if given.policies else list(POLICIES)
    results = {}
    for label, noise in NOISES.items():
        print(f"\n{len(spaces)} spaces, {given.seeds} seeds, {label}")
        print(f"{'':20}{'compiled at once':^34}{'36 ms per code':^26}")
        head = f"{'N=100':>8}{'N=1000':>9}{'worst':>9}"
        print(f"{'policy':20}{head}{'lost':>8}{head}", flush=True)
        for name in chosen:
            at_once, later = (
                compare(spaces, POLICIES[name], noise, ns, given.seeds) for ns in (0.0, COMPILE_NS)
            )
            results[f"{name}, {label}"] = {"at once": at_once, "36 ms per code": later}
            cells = [
                "".join(
                    f"{side[key]:{width}.3f}" for key, width in zip(KEYS, (8, 9, 9), strict=True)
                )
                for side in (at_once, later)
            ]
            lost = at_once["most default dispatches lost"]
            print(f"{name:20}{cells[0]}{lost:8.1f}{cells[1]}", flush=True)
    print("\nlost: default dispatches lost beyond 1 % of the time, at the worst moment of any run")
    if not given.print_only:
        save("regret", results, table=given.table.name, seeds=given.seeds)


KEYS = ("N=100", "N=1000", "worst space at N=1000")

if __name__ == "__main__":
    main()
