"""Device time by replaying CUDA graphs: many launches in one graph, events around its replays."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import torch

REPLAY_S = 1.5e-3
"""How long a replay should last: an event's half microsecond is then no part of it."""

MOST_LAUNCHES = 1000
MOST_S = 0.6
"""What the replays of one side may take together; slow sides are replayed fewer times."""

Run = Callable[[], Any]


class CaptureFailed(Exception):
    """A capture broke off; torch's own state may be broken with it."""


@dataclass(frozen=True, slots=True)
class Graph:
    """So many launches of one thing, to be replayed."""

    graph: Any
    launches: int

    def replay(self) -> None:
        self.graph.replay()


def capture(run: Run, launches: int) -> Graph:
    """Capture `run` so many times, on a stream of its own, after one call of it there."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
        stream.synchronize()
        # What a collection frees meanwhile could call what a capture forbids.
        collects = gc.isenabled()
        gc.disable()
        try:
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                for _ in range(launches):
                    run()
            except BaseException:
                with suppress(Exception):  # the first error is the one to tell
                    graph.capture_end()
                raise
            graph.capture_end()
        except Exception as error:
            raise CaptureFailed(f"{type(error).__name__}: {error}") from error
        finally:
            if collects:
                gc.enable()
    torch.cuda.current_stream().wait_stream(stream)
    return Graph(graph, launches)


def seconds_of(run: Run, times: int = 3) -> float:
    """About how long one call takes on the device, its launch included where that is longer."""
    run()
    start, end = _event(), _event()
    start.record()
    for _ in range(times):
        run()
    end.record()
    end.synchronize()
    return max(start.elapsed_time(end) / 1e3 / times, 1e-7)


def fitted(run: Run, replay_s: float = REPLAY_S) -> Graph:
    """A graph whose replay lasts about `replay_s`, or one launch where that is longer."""
    graph = capture(run, _fit(replay_s / seconds_of(run)))
    took = replays(graph, 2)[-1] * graph.launches
    # Before, what the host needs to launch may have been longer than the launches themselves.
    if took < replay_s / 2 and graph.launches < MOST_LAUNCHES:
        graph = capture(run, _fit(graph.launches * replay_s / max(took, 1e-7)))
    return graph


def _fit(launches: float) -> int:
    return max(1, min(MOST_LAUNCHES, round(launches)))


def replays(graph: Graph, count: int) -> list[float]:
    """Seconds a launch in each of so many replays in a row.

    One more before them keeps the stream busy, so that no time of the host's is between the events.
    """
    events = [_event() for _ in range(count + 1)]
    graph.replay()
    events[0].record()
    for event in events[1:]:
        graph.replay()
        event.record()
    events[-1].synchronize()
    return [before.elapsed_time(after) / 1e3 / graph.launches for before, after in pairwise(events)]


def quick(run: Run, launches: int, count: int = 3) -> float:
    """The median seconds of a launch over a few replays."""
    return median(replays(capture(run, launches), count))


def interleaved(
    graphs: Mapping[str, Graph], rounds: int, over: Callable[[], bool]
) -> dict[str, list[float]]:
    """Seconds a launch of each side, a figure for each round, the sides taking turns.

    Args:
        graphs: the sides.
        rounds: how many, at most; a slow side leaves earlier.
        over: whether there is no time for another round.
    """
    first = {name: replays(graph, 2)[-1] for name, graph in graphs.items()}
    turns = {
        name: max(3, min(rounds, int(MOST_S / (first[name] * graph.launches))))
        for name, graph in graphs.items()
    }
    warm_up = next(iter(graphs.values()))
    found: dict[str, list[float]] = {name: [] for name in graphs}
    order = list(graphs)
    for number in range(rounds):
        if number >= 3 and over():
            break
        now = [name for name in order if number < turns[name]]
        events = [_event() for _ in range(len(now) + 1)]
        warm_up.replay()
        events[0].record()
        for name, event in zip(now, events[1:], strict=True):
            graphs[name].replay()
            event.record()
        events[-1].synchronize()
        for name, (before, after) in zip(now, pairwise(events), strict=True):
            found[name].append(before.elapsed_time(after) / 1e3 / graphs[name].launches)
        order.append(order.pop(0))
    return found


def _event() -> Any:
    return torch.cuda.Event(enable_timing=True)
