"""The same learner for launches that somebody else makes: asked before each, told afterwards."""

from __future__ import annotations

from math import inf

from vyre.learn.events import Began, Event, Fell, Moment, Put, Ran, Record, Wake, What, Woke
from vyre.learn.inheritance import Inherited
from vyre.learn.learner.advance import advance
from vyre.learn.pace import Pace
from vyre.learn.recorder import Recorder
from vyre.learn.standing import Standing
from vyre.learn.subject import Question
from vyre.model import Config, Failed, Outcome
from vyre.policy.table import DEFAULT_POLICY

_AT_ONCE = Pace(share=1.0, advance_s=inf, resting_s=0.0, shortest_s=0.0, margin=1.0)


class ByHand:
    """Learns without a thread: everything is ready, and whoever launches waits for nothing.

    >>> from vyre.model import DeviceInfo, DeviceKind, Knobs, Limits, Timed, Workload
    >>> some = tuple(Knobs.of({"BLOCK": size}) for size in (64, 128))
    >>> limits = Limits(max_threads=1, max_block=(1, 1, 1), max_grid=(1, 1, 1))
    >>> here = DeviceInfo(
    ...     backend="", model="", driver="", compiler="", kind=DeviceKind.CPU, limits=limits
    ... )
    >>> what = Workload(fingerprint=b"", buckets=(), traits=(), device="", toolchain="")
    >>> question = Question(
    ...     workload=what, name="f", device=here, default=some[0], candidates=some, warm=True
    ... )
    >>> learner = ByHand(question, 1)
    >>> for _ in range(20):
    ...     config = learner.ask()
    ...     learner.tell(Timed(config, 1e6 / config["BLOCK"]), 1)
    >>> learner.ask()["BLOCK"]
    128
    """

    def __init__(
        self,
        question: Question,
        size: int,
        *,
        policy: str = DEFAULT_POLICY,
        recorder: Recorder | None = None,
    ) -> None:
        """Learn an answer to `question` about dispatches of `size` elements, into `recorder`."""
        self.standing = Standing.of(question.workload, question.default)
        self._recorder, self._dispatches = recorder, 0
        ready = frozenset(question.candidates)
        self._happened(Began(question, Inherited(), ready, size, policy))

    def ask(self) -> Config:
        """What to launch next."""
        wanted = self.standing.wanted
        return self.standing.decision.config if wanted is None else wanted.config

    def tell(self, outcome: Outcome, size: int, *, keeps: bool = True) -> None:
        """Learn what came of a launch; where it `keeps`, it is remembered."""
        self._dispatches += 1
        if isinstance(outcome, Failed):
            self._happened(Fell({outcome.config: outcome.reason}), keeps=keeps)
        else:
            self._happened(Ran(outcome.config, outcome.elapsed_ns, size), keeps=keeps)

    def _happened(self, what: What, *, keeps: bool = True) -> None:
        at = Moment(now_s=0.0, dispatches=self._dispatches)
        self.standing, effects = advance(self.standing, Event(what, at), _AT_ONCE)
        for effect in effects:
            match effect:
                case Record(outcome, size) if keeps and self._recorder is not None:
                    self._recorder.record(self.standing.decision.workload, outcome, size)
                case Put(decision, _) if keeps and self._recorder is not None:
                    self._recorder.put(decision)
                case Wake(_, Woke() as woke):
                    self._happened(woke, keeps=keeps)
                case _:
                    pass  # what is asked for stands in the standing, and nothing is ever fetched
