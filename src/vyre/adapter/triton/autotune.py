"""Triton's `autotune`, with configurations learned from the launches that are made anyway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from triton.runtime.autotuner import Autotuner, Config, heuristics
from triton.runtime.jit import KernelInterface

from vyre.adapter.trial.trials import Check
from vyre.adapter.triton.compile import LIMIT_S
from vyre.adapter.triton.configs import checked
from vyre.adapter.triton.tuner import Tuner
from vyre.errors import InvalidInput

__all__ = ["Config", "Tuner", "autotune", "heuristics"]


def autotune(
    configs: Sequence[Config],
    key: Sequence[str] | str | None,
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
    *,
    check: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Callable[[Any], Tuner]:
    """Let Vyre choose among configurations of a kernel of Triton's: `triton.autotune`, changed.

    Each call launches the kernel once, under one configuration, on the caller's own arguments.
    What it takes is what is learned from: nothing is run for its time alone, and nothing is reset.

    Args:
        configs: what may run it, by their author's word; the first that is not pruned and can be
            compiled is the default. What is given twice counts once.
        key: names of arguments whose values tell calls apart, exactly; of a tensor its type and its
            alignment count, and those count for every argument anyway. None counts whole numbers
            by their doublings.
        prune_configs_by: as in Triton; it is asked at each first call of a kind.
        reset_to_zero: names of arguments, which are checked. Triton zeroes them around its
            benchmarks, and not where it has chosen; here all calls are like those.
        restore_value: the same.
        pre_hook: what Triton calls around its benchmarks, and never else: it is not called here.
            A `pre_hook` of a config is called before each launch under it.
        post_hook: the same.
        warmup: for how long Triton benchmarks; it changes nothing here.
        rep: the same.
        use_cuda_graph: how Triton benchmarks; it changes nothing here.
        do_bench: the same; it is not called.
        cache_results: whether Triton keeps its choices; here they are kept anyway.
        check: try each config on copies, in another process, before it serves, and compare what it
            left in the tensors with what the first did: bitwise, or within `rtol` and `atol`.
        rtol: how close, relative to the first's.
        atol: how close, absolutely.
    """
    asked = Check.of(check, rtol, atol)

    def decorated(kernel: Any) -> Tuner:
        if isinstance(kernel, Autotuner):
            raise InvalidInput(
                f"{kernel.base_fn.__name__} is under two autotuners", "leave one of them out"
            )
        name = str(getattr(kernel, "__name__", type(kernel).__name__))
        if not isinstance(kernel, KernelInterface):
            raise InvalidInput(
                f"{name}, which is no kernel of Triton's", "put @triton.jit right above it"
            )
        return Tuner(
            kernel,
            checked(configs or (), name),
            key,
            asked and replace(asked, limit_s=LIMIT_S),
            reset_to_zero=reset_to_zero,
            restore_value=restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
        )

    return decorated
