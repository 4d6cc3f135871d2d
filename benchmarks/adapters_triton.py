"""`vyre.triton.autotune` beside `triton.autotune`: first calls, 200 calls, choices, host time.

    python benchmarks/adapters_triton.py [--out FILE] [--kernels add,product] [--dry]

Each side runs each kernel in a process of its own, with empty caches; choices are then compared in
one process, in turns. It ends with a table; a figure beyond its limit is marked. What is not
done when `--budget` is over is left; what is done is in `--out` at once, whatever fails after it.
`--dry` goes the same way without a GPU: nothing is timed there that means anything.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

WHAT = str(__doc__).partition("\n")[0]
LIMITS = {"first": 0.10, "choice": 1.02, "total_200": 0.5, "host": 0.35}
CALLS = 200
KERNELS = ("add", "softmax", "layer_norm", "product", "attention")
HOST_KERNELS = ("add", "product")
TOLD = "told "  # begins the lines in which a process says what it has so far

Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Case:
    """A kernel with its usual configurations, on arguments as its users have them."""

    decorated: Callable[[Any], Any]
    grid: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    check: Callable[[], float]

    def bind(self, kernel: Any) -> Callable[[], Any]:
        return lambda: kernel[self.grid](*self.args, **self.kwargs)


def rows_of(blocks: tuple[int, ...], warps: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"kwargs": {"BLOCK": n}, "num_warps": w} for n in blocks for w in warps]


def settings_of(name: str) -> list[dict[str, Any]]:
    """What Triton's users try for such a kernel."""
    if name == "add":
        return rows_of((512, 1024, 2048, 4096), (2, 4, 8))
    if name in ("softmax", "layer_norm"):
        return rows_of((512, 1024, 2048, 4096), (4, 8, 16))
    if name == "product":
        tiles = (  # those of Triton's tutorial, of which some have no room with this type
            *((128, 256, 64, 3, 8), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4)),
            *((64, 128, 32, 4, 4), (128, 32, 32, 4, 4), (64, 32, 32, 5, 2), (32, 64, 32, 5, 2)),
            *((128, 256, 128, 3, 8), (256, 128, 128, 3, 8), (256, 64, 128, 4, 4)),
            *((64, 256, 128, 4, 4), (128, 128, 128, 4, 4), (128, 64, 64, 4, 4)),
            *((64, 128, 64, 4, 4), (128, 32, 64, 4, 4)),
        )
        return [
            {
                "kwargs": {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8},
                "num_stages": stages,
                "num_warps": warps,
            }
            for m, n, k, stages, warps in tiles
        ]
    return [
        {"kwargs": {"BLOCK_M": m, "BLOCK_N": n}, "num_stages": stages, "num_warps": warps}
        for m in (64, 128)
        for n in (32, 64)
        for stages, warps in ((2, 4), (3, 4), (3, 8))
    ]


def case_of(name: str, device: str, *, small: bool) -> Case:
    """A kernel on tensors of this device; small ones launch quicker than they are enqueued."""
    import adapters_triton_kernels as kernels
    import torch
    import triton

    torch.manual_seed(0)
    kernel = getattr(kernels, name)
    kwargs: dict[str, Any] = {}

    def made(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.randn(*shape, device=device, dtype=dtype)

    def apart(ours: Any, wanted: Any) -> float:
        scale = wanted.float().abs().max().item()
        return float((ours.float() - wanted.float()).abs().max().item() / scale)

    if name == "add":
        n = 4096 if small else 1 << 25
        x, y, out = made(n), made(n), made(n)
        args: tuple[Any, ...] = (x, y, out, n)
        grid: Any = lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)  # noqa: E731
        key, check = ["n"], lambda: apart(out, x + y)
    elif name == "softmax":
        rows, columns = (4, 512) if small else (4096, 8192)
        x, out = made(rows, columns), made(rows, columns)
        args = (out, x, columns, columns, columns)
        grid, key = (rows,), ["columns"]
        check = lambda: apart(out, torch.softmax(x, 1))  # noqa: E731
    elif name == "layer_norm":
        rows, columns = (4, 512) if small else (4096, 8192)
        x, out, weight, bias = (
            made(rows, columns),
            made(rows, columns),
            made(columns),
            made(columns),
        )
        args = (x, out, weight, bias, made(rows), made(rows), columns, columns, 1e-5)
        grid, key = (rows,), ["columns"]
        check = lambda: apart(  # noqa: E731
            out, torch.nn.functional.layer_norm(x, (columns,), weight, bias, 1e-5)
        )
    elif name == "product":
        m = n = k = 64 if small else 4096
        a, b = made(m, k, dtype=torch.float16), made(k, n, dtype=torch.float16)
        c = made(m, n, dtype=torch.float16)
        args = (a, b, c, m, n, k, k, 1, n, 1, n, 1)
        kwargs = {"ACTIVATION": ""}
        grid = lambda meta: (  # noqa: E731
            triton.cdiv(meta["M"], meta["BLOCK_M"]) * triton.cdiv(meta["N"], meta["BLOCK_N"]),
        )
        key, check = ["M", "N", "K"], lambda: apart(c, a @ b)
    else:
        heads, length, width = (1, 128, 64) if small else (32, 2048, 64)
        q, k, v, out = (made(heads, length, width, dtype=torch.float16) for _ in range(4))
        args = (q, k, v, out, width**-0.5, length * width, width, length, width)
        grid, key = (lambda meta: (triton.cdiv(length, meta["BLOCK_M"]), heads)), ["length"]
        check = lambda: apart(  # noqa: E731
            out, torch.nn.functional.scaled_dot_product_attention(q, k, v)
        )
        kernel = triton.heuristics({"EVEN": lambda meta: meta["length"] % meta["BLOCK_N"] == 0})(
            kernel
        )
    configs = [triton.Config(**one) for one in settings_of(name)]
    return Case(lambda autotune: autotune(configs, key=key)(kernel), grid, args, kwargs, check)


def said(config: Any) -> dict[str, Any]:
    settings = ("num_warps", "num_stages", "num_ctas")
    return {"kwargs": dict(config.kwargs), **{name: getattr(config, name) for name in settings}}


class Machine:
    """Where it runs: a GPU, or what stands for one."""

    def __init__(self, *, dry: bool) -> None:
        import adapters_triton_kernels
        import torch

        self.dry, self.device = dry, "cpu" if dry else "cuda"
        if dry:
            self.sync: Callable[[], None] = lambda: None
        else:
            self.sync = torch.cuda.synchronize
            x = torch.ones(1024, 1024, device="cuda")
            (x @ x).sum().item()  # contexts and libraries come up, and Triton's own modules
            adapters_triton_kernels.ones[(1,)](x, BLOCK=32)
            torch.cuda.synchronize()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        if not self.dry:
            yield
            return
        from vyre.adapter.triton import launch, tuner
        from vyre.adapter.triton.place import Gpu
        from vyre.testing.foreign import TablePlace
        from vyre.testing.triton_driver import FakeDriver, QuickCompiler, triton_on

        folder = Path(tempfile.mkdtemp(prefix="vyre-dry-"))
        driver = FakeDriver()
        table = TablePlace(lambda: 1000 * driver.launches[-1].num_warps)
        tuner.place_on = lambda _: Gpu(table)
        launch.job = lambda *_: None
        with triton_on(driver, folder, QuickCompiler(folder)):
            yield

    def time_of(self, launch: Callable[[], Any], times: int) -> float:
        """Microseconds of each of several launches in a row, by the device's clock."""
        if self.dry:
            begun = time.perf_counter()
            for _ in range(times):
                launch()
            return 1e6 * (time.perf_counter() - begun) / times
        import torch

        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(times):
            launch()
        last.record()
        last.synchronize()
        return 1e3 * first.elapsed_time(last) / times


def run_side(side: str, name: str, machine: Machine, tell: Tell, *, settle_s: float) -> None:
    """The first calls of a kernel under one autotuner, and what it settles on."""
    case = case_of(name, machine.device, small=machine.dry)
    if side == "triton":
        from triton import autotune
    else:
        from vyre.triton import autotune
    kernel = case.decorated(autotune)
    call = case.bind(kernel)
    machine.sync()
    begun = time.perf_counter()
    call()
    machine.sync()
    found: dict[str, Any] = {"first_s": time.perf_counter() - begun}
    tell(found | {"first_config": said(kernel.best_config)})
    if side == "again":
        return
    found["first_config"] = said(kernel.best_config)
    for _ in range(CALLS - 1):
        call()
    machine.sync()
    found["total_200_s"] = time.perf_counter() - begun
    tell(found | {"config": said(kernel.best_config)})
    if side == "vyre":
        found["settled_after_s"] = settled(kernel, call, machine, settle_s)
        found["explained"] = str(kernel.explain())
    found["config"] = said(kernel.best_config)
    tell(found)
    if not machine.dry:
        call()
        machine.sync()
        tell(found | {"apart": case.check()})


def settled(kernel: Any, call: Callable[[], Any], machine: Machine, most_s: float) -> float:
    """Call until nothing is under way and the choice has stood for a while; how long it took."""
    begun = time.perf_counter()
    last, since = None, begun
    while (now := time.perf_counter()) - begun < most_s:
        for _ in range(50):
            call()
        machine.sync()
        time.sleep(0.002)  # the callers of a GPU have other things to do, too
        explained = kernel.explain().workloads[0]
        state = (kernel.best_config, explained.compiled, explained.pending)
        if state != last or explained.pending:
            last, since = state, now
        if now - since > min(1.5, most_s / 4) and (not explained.next or now - since > most_s / 3):
            break
    return time.perf_counter() - begun


def run_judge(name: str, given: dict[str, Any], machine: Machine) -> dict[str, Any]:
    """Two choices of configurations, launched in turns by Triton itself."""
    import triton

    case = case_of(name, machine.device, small=machine.dry)
    calls = {}
    for side, one in given.items():
        alone = case.decorated(lambda *_, **__: lambda fn: fn)  # without an autotuner
        settings = triton.Config(**one).all_kwargs()
        calls[side] = lambda alone=alone, settings=settings: alone[case.grid](
            *case.args, **case.kwargs, **settings
        )
        calls[side]()
    machine.sync()
    rounds = 3 if machine.dry else 31
    times = {side: [] for side in calls}
    for number in range(rounds):
        for side in (calls, reversed(calls))[number % 2]:
            times[side].append(machine.time_of(calls[side], 2 if machine.dry else 20))
    ratios = [ours / theirs for ours, theirs in zip(times["vyre"], times["triton"], strict=True)]
    return {"ratio": median(ratios), **{f"{side}_us": median(one) for side, one in times.items()}}


def run_host(name: str, machine: Machine, *, settle_s: float) -> dict[str, Any]:
    """Host time of a repeated launch that the device does in no time, in turns."""
    import triton

    import vyre.triton

    case = case_of(name, machine.device, small=True)
    tuners = {"vyre": vyre.triton.autotune, "triton": triton.autotune}
    kernels = {side: case.decorated(autotune) for side, autotune in tuners.items()}
    calls = {side: case.bind(kernel) for side, kernel in kernels.items()}
    for call in calls.values():
        call()
    settled(kernels["vyre"], calls["vyre"], machine, settle_s)
    start = kernels["vyre"]._latest.site.refreshed()
    arguments = kernels["vyre"]._arguments(case.grid, case.args, case.kwargs)
    stream = triton.runtime.driver.active.get_current_stream(0)
    calls["start"] = lambda: start(arguments, stream)  # the driver's call, with a grid's function
    batch, rounds = (5, 2) if machine.dry else (200, 60)
    times = {side: [] for side in calls}
    for _ in range(rounds):
        for side, call in calls.items():
            machine.sync()
            begun = time.perf_counter()
            for _ in range(batch):
                call()
            times[side].append(1e6 * (time.perf_counter() - begun) / batch)
            machine.sync()
    found = {f"{side}_us": median(one) for side, one in times.items()}
    return {**found, "ratio": found["vyre_us"] / found["triton_us"]}


def each(names: Iterable[str], run: Callable[[str], dict[str, Any]], tell: Tell) -> None:
    """Run something for each kernel; one that fails takes none of the others along."""
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = run(name)
        except Exception as error:  # noqa: BLE001  # of whatever kind: the others are run
            traceback.print_exc()
            found[name] = {"failed": f"{type(error).__name__}: {error}"[:300]}
        tell(found)


def work(task: dict[str, Any], tell: Tell) -> None:
    """What one process does."""
    machine = Machine(dry=task["dry"])
    tell({"machine": described()})

    def judge(name: str) -> dict[str, Any]:
        return run_judge(name, task["given"][name], machine)

    def host(name: str) -> dict[str, Any]:
        return run_host(name, machine, settle_s=task["settle_s"])

    with machine.running():
        match task["do"]:
            case "judge":
                each(task["given"], judge, tell)
            case "host":
                each(task["kernel"].split(","), host, tell)
            case side:
                run_side(side, task["kernel"], machine, tell, settle_s=task["settle_s"])


def ask(task: dict[str, Any], folder: Path, left_s: float) -> dict[str, Any]:
    """Have a process do it, with caches in a folder; what it told counts, however it ended."""
    variables = {
        **os.environ,  # noqa: TID251  # a process of our own gets all of it
        "TRITON_CACHE_DIR": str(folder / "triton"),
        "VYRE_CACHE_DIR": str(folder / "vyre"),
    }
    command = [sys.executable, __file__, "--task", json.dumps(task)]
    if left_s < 1:
        return {"failed": "no time was left"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:  # into files: what is said before a process is ended stays
            status = subprocess.run(  # noqa: S603  # this script
                command, env=variables, stdout=out, stderr=err, timeout=left_s
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
        told, errors = (_text_in(one) for one in (out, err))
    found = told_last(told)
    if status is None:
        found["failed"] = "no time was left"
    elif status or not found:
        found["failed"] = (errors.strip().splitlines() or [f"without a word, {status}"])[-1]
    if "failed" in found or "Traceback" in errors:
        found["stderr"] = errors[-4000:]
    return found


def _text_in(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode(errors="replace"))


def told_last(text: str) -> dict[str, Any]:
    """All that a process told, of which later lines replace earlier ones, up to a cut one."""
    found: dict[str, Any] = {}
    for line in text.splitlines(keepends=True):
        if line.startswith(TOLD) and line.endswith("\n"):
            found |= json.loads(line[len(TOLD) :])
    return found


def measure(
    names: list[str], keep: Callable[[dict[str, Any]], object], *, dry: bool, **limits: float
) -> dict[str, dict[str, Any]]:
    """All figures of some kernels; `keep` is given what there is after each process."""
    budget_s, settle_s = limits["budget_s"], limits["settle_s"]
    until = time.monotonic() + budget_s
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    whole: dict[str, Any] = {"machine": {}, "limits": LIMITS, "kernels": found}
    with tempfile.TemporaryDirectory(prefix="vyre-adapters-", ignore_cleanup_errors=True) as held:

        def one(name: str, do: str, folder: str, **more: Any) -> dict[str, Any]:
            begun = time.monotonic()
            task = {"do": do, "kernel": name, "dry": dry, "settle_s": settle_s, **more}
            last = until if do == "judge" else until - budget_s / 8
            answer = ask(task, Path(held) / folder, last - begun)
            whole["machine"] |= answer.pop("machine", {})
            took_s, failed = time.monotonic() - begun, answer.get("failed", "")
            print(f"{do:<8}{took_s:6.1f} s  {name}  {failed}", flush=True)
            return answer

        def spread(part: str, answer: dict[str, Any], of: Iterable[str]) -> None:
            for name in of:
                failed = answer.get("failed", "without a word")
                found[name][part] = answer.get(name, {"failed": failed})
            if "stderr" in answer:
                whole[f"stderr of {part}"] = answer["stderr"]
            keep(whole)

        hosts = [name for name in names if name in HOST_KERNELS]
        if hosts:
            spread("host", one(",".join(hosts), "host", "host"), hosts)
        for name in names:
            for part, do in (("triton", "triton"), ("vyre", "vyre"), ("second", "again")):
                folder = "triton" if part == "triton" else "vyre"
                found[name][part] = one(name, do, folder)
                keep(whole)
        sides = ("triton", "vyre")
        given = {
            name: {side: cell[side]["config"] for side in sides}
            for name, cell in found.items()
            if all("config" in cell[side] for side in sides)
        }
        spread("judge", one(",".join(given), "judge", "vyre", given=given), names)
    return found


def ratios(cell: dict[str, Any]) -> dict[str, float | None]:
    """The figures that have a limit, of one kernel; None where something failed."""

    def over(name: str) -> float | None:
        sides = [cell.get(side, {}).get(name) for side in ("vyre", "triton")]
        return None if None in sides else sides[0] / sides[1]

    return {
        "first": over("first_s"),
        "total_200": over("total_200_s"),
        "choice": cell.get("judge", {}).get("ratio"),
        "host": cell.get("host", {}).get("ratio"),
    }


def starts_with_it(cell: dict[str, Any]) -> str:
    """Whether a second process began with what the first had settled on."""
    first, second = (cell.get(part, {}) for part in ("vyre", "second"))
    first, second = first.get("config"), second.get("first_config")
    return "failed" if None in (first, second) else "yes" if first == second else "NO"


def table(found: dict[str, dict[str, Any]]) -> str:
    limits = "  ".join(f"{name} <= {limit:g}" for name, limit in LIMITS.items())
    lines = [f"vyre over triton: {limits}", f"{'':<11}" + "".join(f"{n:>11}" for n in LIMITS)]
    lines[1] += f"{'second':>9}{'first ms':>10}{'host us':>20}{'apart':>9}"
    for name, cell in found.items():
        row = f"{name:<11}"
        for what, limit in LIMITS.items():
            ratio = ratios(cell)[what]
            missed = ratio is not None and ratio > limit
            row += f"{'-' if ratio is None else f'{ratio:.3f}':>10}{'!' if missed else ' '}"
        own, host = cell.get("vyre", {}), cell.get("host", {})
        first, apart = own.get("first_s"), own.get("apart")
        row += f"{starts_with_it(cell):>9}" + (f"{1e3 * first:>10.0f}" if first else f"{'-':>10}")
        parts = [host.get(f"{side}_us") for side in ("start", "vyre", "triton")]
        row += f"{' / '.join(f'{us:.1f}' for us in parts) if None not in parts else '-':>20}"
        lines.append(row + f"{'-' if apart is None else f'{apart:.0e}':>9}")
    return "\n".join(lines)


def described() -> dict[str, str]:
    import torch
    import triton

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    versions = {"triton": triton.__version__, "torch": torch.__version__}
    return {"gpu": gpu, "python": platform.python_version(), **versions}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", default=",".join(KERNELS), help="some of them")
    parser.add_argument("--out", type=Path, help="where the figures go, as JSON")
    parser.add_argument("--budget", type=float, default=480.0, help="seconds for all of it")
    parser.add_argument("--settle", type=float, default=14.0, help="seconds of calls, at most")
    parser.add_argument("--dry", action="store_true", help="go the same way without a GPU")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.task:
        work(json.loads(given.task), lambda what: print(f"\n{TOLD}{json.dumps(what)}", flush=True))
        return 0
    names = given.kernels.split(",")
    if unknown := sorted(set(names) - set(KERNELS)):
        parser.error(f"--kernels {','.join(unknown)}: give some of {','.join(KERNELS)}")

    def keep(whole: dict[str, Any]) -> None:
        if given.out:
            from vyre.testing.provenance import provenance

            text = json.dumps({"what": WHAT, **provenance(), **whole}, indent=1) + "\n"
            given.out.with_suffix(".part").write_text(text, encoding="utf-8")
            given.out.with_suffix(".part").replace(given.out)

    found = measure(names, keep, dry=given.dry, budget_s=given.budget, settle_s=given.settle)
    print(table(found))
    return int(any("failed" in part for cell in found.values() for part in cell.values()))


if __name__ == "__main__":
    sys.exit(main())
