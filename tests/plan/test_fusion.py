"""What two kernels are made into, and which two cannot be."""

import pytest

import vyre
from vyre import Code, In, InOut, InvalidInput, Out, f32, u8, u32
from vyre.analysis import analyse
from vyre.emit import CUDA, emit
from vyre.ir.node import Return
from vyre.ir.validate import validate
from vyre.ir.walk import statements
from vyre.model import DeviceKind
from vyre.plan.fusion import fuse
from vyre.plan.items import item_body


@vyre.kernel
def small(x: In[f32], maybe: Out[u8], limit: f32):
    i = vyre.gid()
    if x[i] > limit:
        return
    maybe[i] = 1


@vyre.kernel
def sums(x: In[f32], y: In[f32, 2], out: Out[f32], limit: f32):
    i = vyre.gid()
    s = x[i]
    for j in range(y.shape[1]):
        for k in range(3):
            if y[i, j] < limit:
                return
            s += y[i, j] * f32(k)
    out[i] = s


def fused(prefilter, confirm, kind=DeviceKind.CPU, *, lanes=False):
    return fuse(prefilter._translation, confirm._translation, kind, lanes=lanes)


def refusal(prefilter, confirm):
    with pytest.raises(InvalidInput) as error:
        fused(prefilter, confirm)
    return str(error.value)


@pytest.mark.parametrize("kind", DeviceKind)
@pytest.mark.parametrize("way", ["compact", "gathered", "gated", "eager"])
def test_every_program_is_valid_and_returns_nowhere(kind, way):
    program = getattr(fused(small, sums, kind), way).program

    assert validate(program) == ()
    assert not any(isinstance(node, Return) for node in statements(program.entry))


def test_lanes_take_as_many_items_as_other_cpus_in_the_order_of_a_gpu(monkeypatch):
    """Side by side, so that they are loaded together."""
    runs, lanes = fused(small, sums), fused(small, sums, lanes=True)
    monkeypatch.setattr("vyre.plan.fusion.PER_INVOCATION", dict.fromkeys(DeviceKind, 32))

    assert runs.per_invocation == lanes.per_invocation == 32
    assert lanes == fused(small, sums, DeviceKind.GPU)
    assert lanes != runs


@pytest.mark.parametrize("way", ["compact", "gathered", "gated", "eager"])
def test_every_program_compiles_for_cuda(way):
    nvrtc = pytest.importorskip("vyre.backend.cuda.nvrtc", exc_type=ImportError)
    program = getattr(fused(small, sums, DeviceKind.GPU), way).program
    text = emit(program, Code(), CUDA, analyse(program)).text

    assert isinstance(nvrtc.compile(text, nvrtc.options("sm_90")), nvrtc.Cubin)


def test_a_call_takes_what_both_read_each_once_then_what_the_confirm_writes():
    call = fused(small, sums).call

    assert [str(param) for param in call.params] == [
        "x: In[f32]",
        "limit: f32",
        "y: In[f32, 2]",
        "out: Out[f32]",
    ]


def test_the_serial_programs_take_only_what_they_need():
    both = fused(small, sums)

    assert "y" not in {param.name for param in both.compact.params}
    assert "out" not in {param.name for param in both.compact.params}
    assert {"x", "y", "out"} <= {param.name for param in both.gathered.params}


def test_a_body_without_returns_is_left_without_a_loop():
    @vyre.kernel
    def plain(x: In[f32], out: Out[f32]):
        out[vyre.gid()] = x[vyre.gid()]

    body = item_body(plain._translation, vyre.ir.u32(7), vyre.ir.u32(9), "p_")

    assert body == (
        vyre.ir.block([vyre.ir.store("out", vyre.ir.u32(7), vyre.ir.load("x", vyre.ir.u32(7)))]),
    )


def test_a_name_of_the_kernel_that_is_ours_too_is_told_apart():
    @vyre.kernel
    def named(x: In[f32], p_out: Out[f32], vary: f32):
        done = x[vyre.gid()]
        once = done
        for p_item in range(3):
            if once > vary:
                return
            once += f32(p_item)
        p_out[vyre.gid()] = once + done

    @vyre.kernel
    def yes(x: In[f32], maybe: Out[u8]):
        maybe[vyre.gid()] = u8(x[vyre.gid()] == x[vyre.gid()])

    for way in ("compact", "gathered", "gated", "eager"):
        assert validate(getattr(fused(yes, named), way).program) == ()


def test_a_prefilter_that_writes_no_flag_is_refused():
    assert refusal(sums, sums) == (
        "prefilter sums writes out: Out[f32]\n"
        "Fix: give it one output, such as maybe: Out[u8], that is 1 for yes and 0 for no"
    )


def test_a_confirm_that_writes_elsewhere_is_refused():
    @vyre.kernel
    def shifted(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i + 1] = x[i]

    assert refusal(small, shifted) == (
        "shifted cannot be speculated on: it writes out elsewhere than at its own item\n"
        "Fix: write out[vyre.gid()]"
    )


def test_a_name_that_holds_the_item_only_at_first_is_not_the_item():
    @vyre.kernel
    def moved(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        v = x[i]
        i += 1
        out[i] = v

    assert refusal(small, moved).startswith(
        "moved cannot be speculated on: it writes out elsewhere than at its own item\n"
    )


def test_a_kernel_that_changes_an_array_is_refused():
    @vyre.kernel
    def changes(x: InOut[f32]):
        x[vyre.gid()] += 1

    assert refusal(small, changes) == (
        "changes cannot be speculated on: x is InOut\n"
        "Fix: read it as In, and write another array as Out"
    )


def test_a_kernel_that_depends_on_the_launch_is_refused():
    @vyre.kernel(workgroup=64)
    def local(x: In[f32], out: Out[f32]):
        out[vyre.gid()] = x[vyre.local_id()]

    assert refusal(small, local) == (
        "local cannot be speculated on: it uses local_id, which depends on the launch\n"
        "Fix: use gid() alone"
    )


def test_a_kernel_of_two_axes_is_refused():
    @vyre.kernel
    def board(x: In[f32, 2], out: Out[f32, 2]):
        out[vyre.gid(0), vyre.gid(1)] = x[vyre.gid(0), vyre.gid(1)]

    assert refusal(small, board) == (
        "board cannot be speculated on: it covers 2 axes\n"
        "Fix: use gid(0) alone, and compute the rest from it"
    )


def test_a_kernel_with_a_barrier_is_refused():
    @vyre.kernel(workgroup=64)
    def waits(x: In[f32], out: Out[f32]):
        vyre.barrier()
        out[vyre.gid()] = x[vyre.gid()]

    assert refusal(small, waits) == (
        "waits cannot be speculated on: it has a barrier, which other items take part in\n"
        "Fix: leave it out"
    )


def test_parameters_of_one_name_must_be_declared_alike():
    @vyre.kernel
    def other(x: In[u32], out: Out[u32]):
        out[vyre.gid()] = x[vyre.gid()]

    assert refusal(small, other) == (
        "small takes x: In[f32], other takes x: In[u32]\n"
        "Fix: declare it alike in both, or rename one"
    )


def test_a_name_cannot_be_read_by_one_and_written_by_the_other():
    @vyre.kernel
    def over(maybe: In[u8], out: Out[f32]):
        out[vyre.gid()] = f32(maybe[vyre.gid()])

    @vyre.kernel
    def back(y: In[f32], x: Out[f32]):
        x[vyre.gid()] = y[vyre.gid()]

    for confirm, name in ((over, "maybe"), (back, "x")):
        assert refusal(small, confirm) == (
            f"{name} is a parameter of both small and {confirm.name}, and one of them writes it\n"
            "Fix: rename one"
        )


def test_a_name_that_vyre_uses_itself_is_refused():
    @vyre.kernel
    def taken(x: In[f32], vyre_tail: Out[f32]):
        vyre_tail[vyre.gid()] = x[vyre.gid()]

    assert refusal(small, taken) == (
        "parameter vyre_tail of taken has a name that Vyre uses itself\n"
        "Fix: rename it to one that does not begin with vyre_"
    )


def test_fast_math_holds_for_both_or_none():
    @vyre.kernel(fast_math=True)
    def fast(x: In[f32], out: Out[f32]):
        out[vyre.gid()] = x[vyre.gid()]

    assert refusal(small, fast) == (
        "one of small and fast is fast_math\nFix: declare both so, or none"
    )
