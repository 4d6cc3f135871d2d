"""A kernel as its user holds it: call it with arrays."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vyre.analysis import Facts
from vyre.errors import InvalidInput, VyreError, labelled
from vyre.ir.declare import Dim3
from vyre.ir.program import Program
from vyre.lang import Translation
from vyre.learn import process
from vyre.learn.explain import Explanation
from vyre.learn.rules import rule
from vyre.model import Decision, Reason, Schedule, html_rows
from vyre.plain import shown
from vyre.plan import DispatchConfig, refuse_unsupported
from vyre.policy.contest import Progress
from vyre.runtime.call import by_name
from vyre.runtime.call.agree import Checked
from vyre.runtime.call.blame import told
from vyre.runtime.call.dispatch import Dispatcher
from vyre.runtime.call.identity import key_of
from vyre.runtime.call.launch import Launch
from vyre.runtime.call.repeat import LONGER
from vyre.runtime.call.tune import answers, idle
from vyre.runtime.devices.explain import explanation
from vyre.runtime.devices.opened import default

log = logging.getLogger("vyre.calls")

Function = Callable[..., Any]

CALL_WORDS = frozenset(
    {"out", "shape", "schedule", "config", "stream", "budget_s", "again", "progress"}
)
"""Names that calls keep for themselves, so that no parameter can have them."""

MOST_BUDGET_S = 1e9
"""Thirty years: what is above is no budget but a mistake."""

HONOURED = frozenset({"workgroup_override", "label"})
"""The wishes of a `DispatchConfig` that a call of a kernel acts on; the rest it says itself."""


class Kernel:
    """A translated function; calling it runs it on the given arrays."""

    def __init__(self, function: Function, translation: Translation) -> None:
        self._translation = translation
        self._dispatcher = Dispatcher(translation)
        short = self._dispatcher.short
        self._same, self._again, self._found_by = short.same, short.again, short.found_by
        self._numbers = short.numbers
        self._defaults = {
            param.name: param.default for param in translation.params if param.default is not None
        }
        functools.update_wrapper(self, function)

    @property
    def name(self) -> str:
        return self._translation.name

    @property
    def program(self) -> Program:
        """What the function means, in the IR."""
        return self._translation.program

    @property
    def facts(self) -> Facts:
        """What is proved of it."""
        return default().facts(self.program)

    def source(self, schedule: Schedule | None = None) -> str:
        """What is compiled for a schedule, or for the default one, on this process's device."""
        self._pinned(schedule, None)
        device = default()
        if schedule is not None:
            schedule = self._dispatcher.launcher(device).asked(schedule)
        code = schedule.code if schedule else device.usual_code(self.program)
        return device.source(self.program, code)

    def __call__(
        self,
        /,
        *arrays: object,
        out: object = None,
        shape: int | Sequence[int] | None = None,
        schedule: Schedule | None = None,
        config: DispatchConfig | None = None,
        stream: object = None,
        **named: object,
    ) -> Any:
        """Run once over the given arrays.

        NumPy arrays give NumPy arrays, and the call returns when the result is there. Arrays of a
        device, of CuPy and of torch stay there, and the call returns at once.

        Args:
            *arrays: What the kernel reads, in declaration order.
            out: The array to write, or a tuple of them; without it they are made, full of zeros.
            shape: What to cover, where no array says; of a kernel that asks for no position, and so
                runs once, what its outputs are.
            schedule: How to run it, instead of what was learned; refused where it might change the
                result.
            config: Wishes for this call; a workgroup in it is pinned as `schedule` is.
            stream: The CUDA stream to run on, instead of the one that is current in the arrays'
                library.
            **named: Scalars, and arrays by their parameter's name.

        Returns:
            The output, a tuple of them in declaration order, or None for a kernel without any.
        """
        if self._defaults:
            named = {**self._defaults, **named}
        try:
            if schedule is None and config is None:
                very: tuple[object, ...] | None
                kind = type(out)
                if shape is not None or len(named) != self._numbers:
                    very, given = self._found_by(rule(), arrays, out, shape, named)
                elif kind is tuple or kind is list:
                    given = (*arrays, *out)  # type: ignore[misc]  # it is one of these
                    very = key_of(rule(), len(arrays), given)
                else:
                    given = (*arrays, out)
                    very = key_of(rule(), None, given)
                if very is not None:
                    same = self._same.get(very)
                    if same is not None:
                        result = same(given, out, named, stream)
                        if result is not LONGER:
                            return result
                    known = same is not None
                    result = self._again(
                        very, given, arrays, out, shape, stream, named, known=known
                    )
                    if result is not LONGER:
                        return result
            label = config.label if isinstance(config, DispatchConfig) else None
            with labelled(label):
                pinned = self._pinned(schedule, config)
                if label is not None:
                    log.debug("%s: %s, %s", label, self.name, pinned or "as learned")
                return self._dispatcher.call(arrays, out, shape, stream, named, pinned)
        except VyreError as error:
            raise told(self._translation, error) from error.__cause__

    def _pinned(
        self, schedule: Schedule | None, config: DispatchConfig | None
    ) -> Schedule | Dim3 | None:
        if not (schedule is None or isinstance(schedule, Schedule)):
            raise InvalidInput(
                f"schedule= of {self.name} is {shown(schedule)}",
                "pass a vyre.Schedule, such as vyre.Schedule((256, 1, 1))",
            )
        if config is None:
            return schedule
        if not isinstance(config, DispatchConfig):
            raise InvalidInput(
                f"config= of {self.name} is {shown(config)}", "pass a vyre.DispatchConfig"
            )
        refuse_unsupported(config, f"a call of {self.name}", HONOURED)
        if schedule is not None and config.workgroup_override not in (None, schedule.workgroup):
            raise InvalidInput(
                f"schedule= of {self.name} has workgroup {schedule.workgroup}, "
                f"config= {config.workgroup_override}",
                "pass one of them",
            )
        return schedule or config.workgroup_override

    def prepare(
        self,
        /,
        *arrays: object,
        out: object = None,
        shape: int | Sequence[int] | None = None,
        stream: object = None,
        **named: object,
    ) -> Launch:
        """Bind a call once; calling what this returns launches it.

        Its arrays are a device's, or NumPy's where calls on them run where they are.

        Args:
            *arrays: As in a call.
            out: As in a call; without it the outputs are made now, and written by every launch.
            shape: As in a call.
            stream: As in a call.
            **named: As in a call.
        """
        try:
            return self._dispatcher.prepare(arrays, out, shape, stream, {**self._defaults, **named})
        except VyreError as error:
            raise told(self._translation, error) from error.__cause__

    def explain(
        self,
        /,
        *arrays: object,
        out: object = None,
        shape: int | Sequence[int] | None = None,
        **named: object,
    ) -> Explanation:
        """What is proved of this kernel, how it runs, and why.

        Args:
            *arrays: As in a call, to hear of such calls alone; without arguments, of all so far.
            out: As in a call.
            shape: As in a call.
            **named: As in a call.
        """
        try:
            every = self._dispatcher.sites
            if not arrays and not named and out is None and shape is None:
                launchers = self._dispatcher.launchers or (self._dispatcher.launcher(default()),)
                return explanation(self.name, self.facts, every, launchers)
            bound = self._dispatcher.bind(arrays, out, shape, None, {**self._defaults, **named})
            workload = bound.numbered[2]
            sites = [site for site in every if site.decision.workload == workload]
            return explanation(self.name, bound.launcher.facts, sites, (bound.launcher,))
        except VyreError as error:
            raise told(self._translation, error) from error.__cause__

    def tune(
        self,
        /,
        *arrays: object,
        out: object = None,
        shape: int | Sequence[int] | None = None,
        budget_s: float = 10.0,
        again: bool = False,
        progress: Callable[[Progress], None] | None = None,
        **named: object,
    ) -> Decision:
        """Find the fastest way to run such a call, on copies of its arrays, and remember it.

        Args:
            *arrays: As in a call.
            out: As in a call; it is not written.
            shape: As in a call.
            budget_s: How long to look, in seconds.
            again: Measure even if a choice is remembered; one that was looked for in less time,
                and not to the end, is measured again anyway.
            progress: Called now and then with what has been found so far.
            **named: As in a call.

        Returns:
            The decision: what was chosen, and why. Later calls of this size use it.
        """
        try:
            _check_budget(budget_s)
            if progress is not None and not callable(progress):
                raise InvalidInput(
                    f"progress= of {self.name} is {shown(progress)}",
                    "pass a function of one argument",
                )
            bound = self._dispatcher.bind(arrays, out, shape, None, {**self._defaults, **named})
            numbers, alignment, workload = bound.numbered
            if 0 in numbers.extent:
                return idle(bound.launcher, numbers, workload)
            recorder, deciders = process.recorder(), process.deciders()
            known = recorder.get(workload)
            legal = bound.launcher.space(numbers, alignment).legal
            if (
                known is not None
                and known.config in legal
                and answers(known, budget_s)
                and not again
            ):
                return replace(known, reason=Reason.REMEMBERED)
            deciders.forget(workload)
            decision = self._dispatcher.sweep(bound, budget_s=budget_s, progress=progress)
            self._dispatcher.forget()
            if (found := recorder.at_hand(workload)) is not None:
                deciders.tuned(found)
            return decision  # noqa: TRY300  # errors of all of it are told alike
        except VyreError as error:
            raise told(self._translation, error) from error.__cause__

    def check(
        self,
        /,
        *arrays: object,
        out: object = None,
        shape: int | Sequence[int] | None = None,
        **named: object,
    ) -> Checked:
        """Run such a call in every workgroup that its author names, on copies, and compare.

        One that gives other bits than the first is dropped: no later call runs it on this device.

        Args:
            *arrays: As in a call.
            out: As in a call; it is not written.
            shape: As in a call.
            **named: As in a call.

        Returns:
            Which workgroups gave the same bits, and which did not, with the first difference.
        """
        given = {**self._defaults, **named}
        return self._dispatcher.compare(self._dispatcher.bind(arrays, out, shape, None, given))

    def __reduce__(self) -> tuple[Callable[[str, str], Kernel], tuple[str, str]]:
        return _found, by_name.name_of(self)

    def __copy__(self) -> Kernel:
        return self  # as a function is

    def __deepcopy__(self, _: object) -> Kernel:
        return self

    def __repr__(self) -> str:
        params = ", ".join(str(param) for param in self._translation.params)
        return f"<vyre.kernel {self.name}({params})>"

    def _repr_html_(self) -> str:
        return html_rows(repr(self).strip("<>"), ()) + self.explain()._repr_html_()


def _found(module: str, name: str) -> Kernel:
    """What a pickle of a kernel calls."""
    kernel: Kernel = by_name.found(module, name, Kernel)
    return kernel


def _check_budget(budget_s: object) -> None:
    number = isinstance(budget_s, (int, float, np.integer, np.floating))
    other = isinstance(budget_s, (bool, np.timedelta64))  # which are numbers, too, to Python
    if not number or other or not 0 < budget_s < MOST_BUDGET_S:  # type: ignore[operator]  # of a number
        raise InvalidInput(f"a budget of {shown(budget_s)} s", "pass a number of seconds above 0")
