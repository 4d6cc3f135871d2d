"""A choice between whole functions on the same tensors: each call runs one of them, once."""

import ctypes
import sys
import threading
import warnings

import cloudpickle
import numpy as np
import pytest

import vyre
from vyre.adapter import beside
from vyre.adapter import tuned as tuned_module
from vyre.adapter.kind import Job
from vyre.runtime.arrays.in_place import alignment_at
from vyre.testing.foreign import TablePlace, failures, learning

torch = pytest.importorskip("torch")
from vyre.adapter import torch as adapter  # noqa: E402  # it needs torch
from vyre.adapter.trial.around import MARGIN  # noqa: E402
from vyre.adapter.trial.copying import copied  # noqa: E402
from vyre.adapter.trial.margins import Margins  # noqa: E402
from vyre.adapter.trial.portable import ran as ran_there  # noqa: E402
from vyre.adapter.trial.trials import pickled  # noqa: E402
from vyre.adapter.trial.viewed import viewed  # noqa: E402
from vyre.torch import choose  # noqa: E402

TIMES_NS = {"eager": 1_000_000, "product": 400_000, "compiled": 300_000, "astray": 100_000}


@pytest.fixture
def ran():
    return []


@pytest.fixture(autouse=True)
def place(monkeypatch, ran):
    made = TablePlace(lambda: TIMES_NS[ran[-1]])
    monkeypatch.setattr(tuned_module, "HOST", made)
    return made


@pytest.fixture
def ways(ran):
    def eager(x):
        ran.append("eager")
        return x / 2

    def product(x):
        ran.append("product")
        return x * 0.5

    return {"eager": eager, "product": product}


class Compiled:
    """What `torch.compile` gives, but for the compiler: its first run takes a while."""

    def __init__(self, function, ran):
        self._torchdynamo_orig_callable = function
        self.ran, self.runs = ran, []

    def __call__(self, x):
        self.runs.append((threading.current_thread().name, x, torch.is_grad_enabled()))
        if threading.current_thread() is threading.main_thread():
            self.ran.append("compiled")
        return x / 2


def entry_of(made):
    return list(made._calls._entries.values())[-1]


def chosen(made):
    return entry_of(made).chosen["way"]


def all_done():
    """Wait for what is done beside the calls."""
    beside.aside().submit(lambda: None, lambda: None).wait(600)
    if beside.trying.cache_info().currsize:
        beside.trying().submit(Job(entry="vyre.adapter.none:none")).wait(600)


def call(bench, made, x, until=lambda: False, times=600):
    for _ in range(times):
        assert made(x).tolist() == (x / 2).tolist()
        assert bench.deciders.desk.drained(60)
        all_done()
        if until():
            return True
    return False


def test_the_best_is_found_from_calls_that_each_run_one(bench, ways, ran):
    made = choose(**ways)

    assert call(bench, made, torch.ones(100), lambda: chosen(made) == "product")
    before = len(ran)
    call(bench, made, torch.ones(100), times=10)

    assert ran[before:] == ["product"] * 10
    assert repr(made) == "<tuned eager, 2 configs>"


def test_the_next_process_starts_with_what_was_learned(bench, ways, ran):
    made = choose(**ways)
    assert call(bench, made, torch.ones(100), lambda: chosen(made) == "product")
    call(bench, made, torch.ones(100), times=20)
    ran.clear()  # it stands around the functions, so what it holds is part of them

    with learning(bench.again()):
        choose(**ways)(torch.ones(120))

    assert ran == ["product"]


def test_what_was_learned_is_explained(bench, ways):
    made = choose(**ways)
    assert call(bench, made, torch.ones(100), lambda: chosen(made) == "product")

    head, _, _, where, *lines = str(made.explain()).splitlines()

    assert head == "eager: that its configs compute the same is stated by its author"
    assert where == "100 elements on a table"
    assert "  runs        way=product" in lines
    assert "  default     way=eager" in lines


def test_kinds_of_tensors_are_learned_apart(bench, ways):
    made = choose(**ways)
    tensors = [
        *(torch.ones(100), torch.ones(100, dtype=torch.float64), torch.ones(10, 10)),
        *(torch.ones(100, dtype=torch.bfloat16), torch.ones(1000)),
    ]
    for x in tensors:
        made(x)

    assert len({entry.call.workload for entry in made._calls._entries.values()}) == len(tensors)
    assert bench.deciders.desk.drained(60)


def test_modes_of_torch_tell_calls_apart(bench, ways):
    made, x = choose(**ways), torch.ones(100)
    made(x)
    with torch.no_grad():
        made(x)
    with torch.inference_mode():
        made(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made(x)
    made(x.clone().requires_grad_())
    made(torch.ones(200)[::2])
    made(torch.ones(2, 2, 5, 5).to(memory_format=torch.channels_last))
    made(torch.eye(10).to_sparse())

    assert [one.call.workload.traits for one in made._calls._entries.values()] == [
        ("torch float32 host C 1",),
        ("torch float32 host C 1", "no gradients"),
        ("torch float32 host C 1", "no gradients", "inference"),
        ("torch float32 host C 1", "autocast cpu torch.bfloat16"),
        ("torch float32 host C gradients 1",),
        ("torch float32 host strided 0 1",),
        ("torch float32 host strided 0231 4",),
        ("torch float32 host torch.sparse_coo 2",),
    ]
    assert bench.deciders.desk.drained(60)


@pytest.mark.usefixtures("bench")
def test_tensors_of_every_kind_can_be_passed():
    made = choose(eager=lambda x: x, other=lambda x: x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of torch: some of these are young
        tensors = [
            *(torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr(), torch.ones(3, device="meta")),
            *(torch.ones(3, dtype=torch.complex64).conj(), torch.ones(0), torch.tensor(1.0)),
            *(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), torch.ones(1).expand(5)),
            *(torch.ones(3).to(torch.float8_e4m3fn), torch.nn.Parameter(torch.ones(2))),
        ]
        for x in tensors:
            assert made(x) is x


@pytest.mark.usefixtures("bench")
def test_inside_of_what_is_compiled_the_first_runs_and_nothing_is_learned(ways, ran):
    made = choose(**{name: lambda x, n=n: x * n for n, name in enumerate(ways, start=2)})

    traced = torch.compile(lambda x: made(x) + 1, backend="eager", fullgraph=True)

    assert traced(torch.ones(3)).tolist() == [3.0] * 3
    assert made._calls._entries == {}
    assert ran == []


@pytest.mark.usefixtures("bench")
def test_gradients_go_through_it(ways):
    x = torch.ones(3, requires_grad=True)

    choose(**ways)(x).sum().backward()

    assert x.grad.tolist() == [0.5] * 3


class TestCompiled:
    """What `torch.compile` made serves once it was compiled, which is done on copies."""

    def test_its_first_run_is_on_copies_beside_the_calls(self, bench, ways, ran):
        compiled = Compiled(ways["eager"], ran)
        made, x = choose(**ways, compiled=compiled), torch.ones(100)

        assert call(bench, made, x, lambda: chosen(made) == "compiled")

        first, *others = compiled.runs
        assert first[0] == "vyre-making"
        assert first[1] is not x
        assert {name for name, *_ in others} == {threading.current_thread().name}
        assert all(one is x for _, one, _ in others)

    @pytest.mark.usefixtures("bench")
    def test_it_is_compiled_for_the_state_of_the_call(self, ways, ran):
        compiled = Compiled(ways["eager"], ran)
        config = vyre.Knobs.of({"way": "compiled"})
        everything = {**ways, "compiled": compiled}
        with torch.no_grad():
            variants = adapter._Ways(everything, ((torch.ones(3),), {}))
        assert variants.job(config) is None
        assert not variants.is_ready(config)

        variants.make(config)

        assert variants.is_ready(config)
        assert [grad for *_, grad in compiled.runs] == [False]
        assert variants._copies is None

    @pytest.mark.usefixtures("bench")
    def test_where_nothing_is_learned_nothing_is_copied(self, ways, ran):
        made = choose(**ways, compiled=Compiled(ways["eager"], ran))

        with vyre.mode("off"):
            made(torch.ones(3))

        assert entry_of(made).made.variants._copies is None
        assert ran == ["eager"]

    def test_a_state_is_that_of_another_thread_too(self):
        seen = []

        def look(x, *, y):
            seen.append(
                (
                    torch.is_inference_mode_enabled(),
                    torch.is_grad_enabled(),
                    torch.is_autocast_enabled("cpu"),
                    torch.get_autocast_dtype("cpu"),
                    (x, y),
                )
            )

        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.float16):
            state = adapter._State.here()
        thread = threading.Thread(target=lambda: state.run(look, (1,), {"y": 2}))
        thread.start()
        thread.join()
        adapter._State.here().run(look, (1,), {"y": 2})

        assert seen == [
            (True, False, True, torch.float16, (1, 2)),
            (False, True, False, torch.bfloat16, (1, 2)),
        ]

    def test_where_there_is_no_room_for_copies_its_first_run_is_a_call(
        self, bench, ways, ran, monkeypatch
    ):
        monkeypatch.setattr("vyre.adapter.trial.copying.host.free_bytes", lambda: 100)
        compiled = Compiled(ways["eager"], ran)
        made, x = choose(**ways, compiled=compiled), torch.ones(100)

        assert call(bench, made, x, lambda: chosen(made) == "compiled")

        assert all(one is x for _, one, _ in compiled.runs)

    def test_one_that_cannot_be_compiled_is_dropped(self, bench, ways):
        def fail(x):
            raise NotImplementedError(f"no such operation on {x.dtype}")

        failing = Compiled(ways["eager"], [])
        failing.__class__ = type("Failing", (Compiled,), {"__call__": lambda _, x: fail(x)})
        made = choose(**ways, compiled=failing)

        assert call(bench, made, torch.ones(100), lambda: failures(entry_of(made)))
        assert failures(entry_of(made)) == {
            "way=compiled": "NotImplementedError: no such operation on torch.float32"
        }

    def test_what_torch_compile_gives_is_known_as_such(self, ways):
        eager = ways["eager"]
        layer = torch.nn.Linear(2, 2)

        for function in (eager, layer):
            compiled = torch.compile(function, backend="eager")
            assert adapter._is_made(compiled)
            assert adapter._original(compiled) is function
            assert not adapter._is_made(function)


class TestTrials:
    """Functions are compared with the first, on copies, in a process that may die."""

    def test_one_that_gives_something_else_never_serves(self, bench, ways, ran):
        def wrong(x):
            return x * 0.25

        made = choose(**ways, wrong=wrong, check=True)
        made(torch.ones(100))
        admitted = entry_of(made).made.admitted

        answers = [
            admitted.trials.submit(admitted.default, vyre.Knobs.of({"way": way})).wait(600)
            for way in ("product", "wrong")
        ]

        assert answers[0] == {}
        assert answers[1].reason == (
            "it differs from way=eager: result 1 has 100 of 100 elements that differ, such as "
            "0.25 at 0, where it should be 0.5"
        )
        assert ran == ["eager"]
        assert bench.deciders.desk.drained(60)

    @pytest.mark.parametrize(("at", "said"), [(-1, 4095), (400, 4096)], ids=["before", "beyond"])
    def test_one_that_writes_beside_a_tensor_never_serves(self, bench, ways, ran, at, said):
        def astray(x):
            ran.append("astray")
            ctypes.memset(x.data_ptr() + at, 7, 1)
            return x * 0.5

        made, x = choose(**ways, astray=astray, check=True), torch.ones(100)
        reason = (
            "it differs from way=eager: the memory beside array 0 has 1 of 8,192 elements that "
            f"differ, such as 7 at {said}, where it should be 165"
        )

        def call():
            made(x)
            beside.trying().submit(Job(entry="vyre.adapter.none:none")).wait(600)

        assert bench.call(call, 600, lambda: reason in str(made.explain()))

        bench.call(call, 20)
        assert f"  dropped     way=astray: {reason}" in str(made.explain())
        assert {*ran} == {"eager", "product"}

    @pytest.mark.filterwarnings("ignore:Sparse CSR")
    @pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
    def test_sparse_tensors_are_taken_though_they_do_not_say_how_large_they_are(self, layout):
        x = torch.eye(3).to_sparse(layout=layout)

        taken = adapter._Ways({"sum": torch.sum}, ((x,), {})).portable(((x,), {}))

        _, argument, _ = adapter.runs(taken.kernel)({"way": "sum"}, taken.arguments)
        assert argument.kind == f"torch.Tensor torch.float32 cpu {layout}"
        assert argument.array.tolist() == torch.eye(3).tolist()

    def test_functions_are_compared_under_the_modes_of_the_call(self):
        def product(x):
            return x @ x, torch.is_grad_enabled()

        x = torch.ones(2, 2)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            taken = adapter._Ways({"product": product}, ((x,), {})).portable(((x,), {}))

        parts = adapter.runs(taken.kernel)({"way": "product"}, taken.arguments)

        given = {one.name: one for one in parts}
        assert given["result 1"].array.tolist() == [[2.0, 2.0]] * 2
        assert given["result 1"].kind == "torch.Tensor torch.bfloat16 cpu torch.strided"
        assert not given["result 2"].array

    def test_what_was_compiled_is_compiled_there_again(self, ways, monkeypatch):
        compiled = []
        monkeypatch.setattr(
            torch, "compile", lambda function: compiled.append(function) or function
        )
        everything = {**ways, "compiled": Compiled(ways["product"], [])}

        taken = adapter._Ways(everything, ((torch.ones(3),), {})).portable(((torch.ones(3),), {}))
        run = adapter.runs(taken.kernel)

        assert [one.__name__ for one in compiled] == ["product"]
        _, argument, result, _ = run({"way": "compiled"}, taken.arguments)
        assert (argument.name, argument.array.tolist()) == ("argument 0", [1.0] * 3)
        assert (result.name, result.array.tolist()) == ("result 1", [0.5] * 3)

    def test_what_compiling_leaves_in_the_process_is_not_taken_for_what_the_function_does(
        self, monkeypatch
    ):
        def doubled(x):
            x.mul_(2)

        def compiled(x):
            if not calls:  # and so it compiles
                sys.setrecursionlimit(sys.getrecursionlimit() + 1)
            calls.append(x.tolist())
            doubled(x)

        calls = []
        monkeypatch.setattr(torch, "compile", lambda _: compiled)
        ways, given = (
            {"doubled": doubled, "compiled": Compiled(doubled, [])},
            ((torch.ones(2),), {}),
        )
        taken = adapter._Ways(ways, given, copies=False).portable(given)

        process, argument, *_ = adapter.runs(taken.kernel)({"way": "compiled"}, taken.arguments)

        assert process.kind == "left as it was"
        assert argument.array.tolist() == [2.0, 2.0]
        assert calls == [[1.0, 1.0]] * 2

    def test_it_is_given_the_time_to_compile(self, ways):
        assert choose(**ways, check=True)._calls.check.limit_s == 120.0
        assert choose(**ways)._calls.check is None

    def test_a_tensor_that_wants_gradients_is_taken(self, bench, ways):
        made = choose(**ways, check=True)
        x = torch.ones(10, requires_grad=True)
        made(x * 3)
        admitted = entry_of(made).made.admitted

        answer = admitted.trials.submit(admitted.default, vyre.Knobs.of({"way": "product"})).wait(
            600
        )

        assert answer == {}
        assert x.grad is None
        assert bench.deciders.desk.drained(60)


class TestCopies:
    """Copies of tensors stand outside of the caller's graph."""

    def test_a_copy_wants_gradients_as_the_first_does_and_gives_the_caller_none(self):
        x = torch.ones(3, requires_grad=True)
        made, plain = copied((x * 2, torch.ones(2)))

        (made * 3).sum().backward()

        assert made.grad.tolist() == [3.0] * 3
        assert x.grad is None
        assert not plain.requires_grad

    def test_a_copy_keeps_the_order_of_axes(self):
        x = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)

        assert copied(x).is_contiguous(memory_format=torch.channels_last)


def elsewhere(value):
    """A value as another process has it."""
    return Margins().within(cloudpickle.loads(pickled(viewed(value))))


GRID = torch.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "x",
    [
        *(GRID, GRID.permute(2, 0, 1), GRID[1], GRID.flatten()[1:], torch.tensor(5.0)),
        torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        *(torch.arange(7).to(one) for one in (torch.bool, torch.bfloat16, torch.complex128)),
        torch.arange(7.0).to(torch.float8_e4m3fn),
        *(torch.tensor([float("nan"), -0.0]), torch.ones(3, requires_grad=True)),
        torch.nn.Parameter(torch.ones(3)),
    ],
    ids=lambda x: f"{x.dtype} {tuple(x.shape)} {x.stride()} {x.requires_grad}",
)
def test_a_tensor_lies_elsewhere_as_it_does_here(x):
    found, again = elsewhere((x, [x]))

    assert found is again[0]
    assert type(found) is torch.Tensor
    assert (found.dtype, found.shape, found.stride()) == (x.dtype, x.shape, x.stride())
    assert (found.device, found.requires_grad, found.is_leaf) == (x.device, x.requires_grad, True)
    assert alignment_at(found.data_ptr()) == alignment_at(x.data_ptr())
    assert found.storage_offset() * found.element_size() >= MARGIN
    assert not found._is_view()
    as_bytes = [one.detach().contiguous().flatten().view(torch.uint8) for one in (found, x)]
    assert torch.equal(*as_bytes)


def test_what_is_not_in_one_piece_of_memory_is_copied_without_margins():
    sparse, none = elsewhere((torch.eye(3).to_sparse(), torch.zeros(0)))

    assert sparse.layout is torch.sparse_coo
    assert (sparse.to_dense().tolist(), none.tolist()) == (torch.eye(3).tolist(), [])


def test_a_copy_has_each_element_once_and_its_sign_is_set():
    lazy, other = ((torch.ones(3, dtype=torch.complex64) * 2j).conj() for _ in range(2))
    given = (torch.ones(1).expand(3), torch.ones(9)[::3], lazy, other.imag)

    found = elsewhere(given)

    assert [one.tolist() for one in found] == [one.tolist() for one in given]
    assert {one.stride() for one in found} == {(1,)}
    assert not found[2].is_conj()
    assert not found[3].is_neg()


def test_gradients_go_through_a_copy_that_is_changed_in_place():
    def scaled(x, weight):
        x.mul_(weight).sum().backward()
        return weight.grad

    given = torch.full((3,), 5.0), torch.ones(3, requires_grad=True)

    left = {one.name: one.array for one in ran_there(scaled, viewed((given, {})))}

    assert left["result 1"].tolist() == [5.0] * 3


def test_tuning_on_purpose_changes_no_tensor_of_the_callers(bench, ran):
    def eager(x):
        ran.append("eager")
        return x.mul_(2)

    def product(x):
        ran.append("product")
        return x.add_(x)

    made, x = choose(eager=eager, product=product), torch.ones(3)

    decision = made.tune(x, budget_s=600.0)

    assert decision.config.text == "way=product"
    assert x.tolist() == [1.0] * 3
    assert bench.recorder.get(decision.workload).config == decision.config


class Model(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = torch.nn.Linear(inner, inner)

    def forward(self, x):
        return self.inner(x)


class Other(Model):
    def forward(self, x):
        return -self.inner(x)


def test_what_functions_are_is_their_source_and_of_modules_their_layers():
    def text(function):
        return adapter._text({"eager": function})

    other = type("Model", (Other,), {"__module__": __name__})  # of the same name

    assert text(Model(2)) == text(Model(2))
    assert len({text(one) for one in (Model(2), Model(3), Other(2), other(2))}) == 4
    assert text(Model(2)).startswith(f"torch {torch.__version__}\neager\nFalse Model(\n")
    assert text(torch.compile(Model(2), backend="eager")) == text(Model(2)).replace("False", "True")
    assert text(lambda x: x + 1) != text(lambda x: x + 2)


@pytest.mark.parametrize(
    ("ways", "said"),
    [
        (
            {},
            "a choice between no functions\n"
            "Fix: name some: choose(eager=f, compiled=torch.compile(f))",
        ),
        ({"eager": 3}, "eager=3 cannot be called\nFix: give functions, each by a name"),
    ],
)
def test_what_is_no_choice_is_refused(ways, said):
    with pytest.raises(vyre.InvalidInput) as caught:
        choose(**ways)

    assert str(caught.value) == said


def test_a_kernel_of_vyres_is_a_way_as_any_other(bench, ways, ran):
    @vyre.kernel
    def half(x: vyre.In[vyre.f32], out: vyre.Out[vyre.f32]):
        i = vyre.gid()
        out[i] = x[i] * 0.5

    def kernel(x):
        ran.append("product")
        return torch.from_numpy(half(x.numpy()))

    made = choose(eager=ways["eager"], kernel=kernel)

    assert call(bench, made, torch.ones(100), lambda: chosen(made) == "kernel")
    assert np.asarray(made(torch.ones(4))).tolist() == [0.5] * 4
