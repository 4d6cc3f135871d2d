"""Arrays of other libraries become arguments where they are, or are refused with what to do."""

import ctypes
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from vyre.errors import InvalidInput
from vyre.ir.types import DataType
from vyre.lang import Param, Role
from vyre.runtime.arrays import foreign, foreign_kinds, shared
from vyre.runtime.arrays.array import DeviceArray
from vyre.runtime.call.launch import Launch
from vyre.runtime.call.repeat import LONGER, Repeat
from vyre.runtime.call.same import Form, same_of
from vyre.runtime.call.streams import Order
from vyre.runtime.devices.device import Device

F32 = DataType.F32


class Backend:
    info = SimpleNamespace(backend="fake", model="fake")
    dlpack_type = 2

    uses_host_memory = False
    strayed = False

    def __init__(self):
        self.copied, self.ordered = [], []
        self.streams = self.sharing = self

    def typed(self, memory, dtype):  # noqa: ARG002  # as the protocol has it
        return memory.address

    def alloc(self, nbytes):
        return SimpleNamespace(address=0x9000, nbytes=nbytes, stream=0)

    def copy(self, source, target, nbytes, stream=0):
        self.copied.append((source.address, target.address, nbytes, stream))

    def fix(self, binary, grid, workgroup, words, arguments):  # noqa: ARG002  # as the protocol has it
        return lambda _: binary(arguments)

    def use_on(self, memory, stream):
        self.ordered.append((memory.stream, stream))
        memory.stream = stream

    def device_of(self, address):
        return address >> 32


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    """Two CUDA devices, and no library remembered."""
    here = (Device("cuda:0", Backend()), Device("cuda:1", Backend()))
    monkeypatch.setattr(shared, "_find", lambda dlpack_type: here if dlpack_type == 2 else ())
    monkeypatch.setattr(foreign_kinds, "_known", {})
    return here


def view(value, *, dtype=F32, written=False):
    return foreign.view(value, where="x of k", dtype=dtype, written=written)


def refusal(value, **more):
    with pytest.raises(InvalidInput) as caught:
        view(value, **more)
    return str(caught.value)


class Exposed:
    """Anything with the CUDA array interface."""

    def __init__(self, shape=(4,), typestr="<f4", data=(0x1000, False), **more):
        told = {"shape": shape, "typestr": typestr, "data": data, "version": 3, **more}
        self.__cuda_array_interface__ = told


class FakeDType:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


class Tensor:
    """What torch's tensors tell."""

    strided = "torch.strided"

    def __init__(self, *shape, dtype="float32", device=0, at=0x1000, contiguous=True, **more):
        self.shape, self.dtype = tuple(shape or (4,)), FakeDType(dtype)
        self.is_cuda, self._device, self._at = device >= 0, device, at
        self._contiguous = contiguous
        self.requires_grad = more.get("requires_grad", False)
        self.layout = more.get("layout", self.strided)
        self._neg, self._conj = more.get("neg", False), more.get("conj", False)

    def get_device(self):
        return self._device

    def data_ptr(self):
        return self._at

    def is_contiguous(self):
        return self._contiguous

    def is_neg(self):
        return self._neg

    def is_conj(self):
        return self._conj

    def clone(self):
        return Tensor(*self.shape, dtype=self.dtype.name, device=self._device, at=0x5000)


Tensor.__module__ = "torch"


@pytest.fixture
def torch(monkeypatch):
    """A module that stands in for torch, its current stream to be set."""
    module = ModuleType("torch")
    module.strided, module.Tensor = Tensor.strided, Tensor
    module.current = 0
    module.made = []
    module.cuda = SimpleNamespace(is_available=lambda: True)
    module._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda index: module.current + index)
    for name in ("float32", "bfloat16", "uint16"):
        setattr(module, name, FakeDType(name))

    def zeros(shape, dtype, device):
        module.made.append((shape, dtype.name, device))
        return Tensor(*shape, dtype=dtype.name, device=int(device.partition(":")[2]), at=0x7000)

    module.zeros = zeros
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


class Cupy:
    """What CuPy's arrays tell."""

    def __init__(self, *shape, dtype="float32", device=0, at=0x2000, contiguous=True):
        self.shape, self.dtype = tuple(shape or (4,)), np.dtype(dtype)
        self.data = SimpleNamespace(ptr=at, device_id=device)
        self.flags = SimpleNamespace(c_contiguous=contiguous)


Cupy.__module__, Cupy.__name__ = "cupy", "ndarray"


@pytest.fixture
def cupy(monkeypatch):
    module = ModuleType("cupy")
    module.current = 0
    module.cuda = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=module.current))
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.mark.parametrize(
    "value", [np.zeros(3), np.float32(1), 3, "x", None, [1.0]], ids=lambda v: type(v).__name__
)
def test_what_is_no_array_of_a_device_is_none_of_ours(value):
    assert view(value) is None


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("lazy", [{"neg": True}, {"conj": True}, {"requires_grad": True}])
def test_a_tensor_that_is_refused_is_not_like_one_that_was_taken(lazy):
    told = [], []
    for keys, more in zip(told, ({}, lazy), strict=True):
        tensor = Tensor(dtype="complex64", **more)
        tensor.dtype = "complex64"
        foreign_kinds.kind_of(tensor).look([tensor], keys, [])

    assert told[0] != told[1]


def seen_of(source):
    keys, arguments = [], []
    foreign_kinds.kind_of(source).look([source], keys, arguments)
    assert hash(tuple(keys)) is not None
    return keys, arguments


@pytest.mark.parametrize(
    "more",
    [
        {"shape": (5,)},
        {"shape": (4, 1)},
        {"typestr": "<i4"},
        {"typestr": ">f4"},
        {"data": (0x1004, False)},
        {"data": (0x1000, True)},
        {"data": (0x1000 + (1 << 32), False)},
        {"strides": (8,)},
        {"strides": [8]},
        {"mask": object()},
        {"stream": 7},
    ],
)
def test_an_array_that_tells_of_anything_else_is_not_like_an_earlier_one(more):
    keys, _ = seen_of(Exposed())

    assert seen_of(Exposed(**more))[0] != keys


def test_one_that_tells_the_same_of_another_place_is():
    keys, arguments = seen_of(Exposed(data=(0x3000, False), shape=[4], strides=None, mask=None))

    assert keys == seen_of(Exposed())[0]
    assert arguments == [0x3000]


def test_an_array_with_the_interface_is_used_where_it_is(cuda):
    source = Exposed(shape=(2, 3), data=(0x1040, False), stream=7)

    seen = view(source, written=True)

    assert isinstance(seen, DeviceArray)
    assert seen.device is cuda[0]
    assert (seen.shape, seen.dtype, seen.argument) == ((2, 3), np.dtype(np.float32), 0x1040)
    assert seen.alignment == 64
    assert seen.source is source
    assert foreign.result_of(seen) is source
    assert foreign.stream_for({"x": seen}) == 7


def test_the_interface_does_not_tell_the_device_so_the_driver_is_asked(cuda):
    assert view(Exposed(data=(1 << 32, False))).device is cuda[1]


def test_a_read_only_array_can_be_read_and_not_written():
    assert view(Exposed(data=(0x1000, True))) is not None

    assert refusal(Exposed(data=(0x1000, True)), written=True) == (
        "x of k is written, but its array is read-only\n"
        "Fix: pass a copy that you keep, c = x.copy(): the result is in c, not in x"
    )


@pytest.mark.parametrize(
    ("shape", "strides", "contiguous"),
    [
        ((4,), None, True),
        ((4,), (4,), True),
        ((4,), (8,), False),
        ((2, 3), (12, 4), True),
        ((2, 3), (4, 8), False),
        ((1, 3), (999, 4), True),
        ((0, 3), (1, 1), True),
    ],
)
def test_strides_say_whether_an_array_is_contiguous(shape, strides, contiguous):
    source = Exposed(shape=shape, strides=strides)

    if contiguous:
        assert view(source).shape == shape
    else:
        assert refusal(source) == (
            "x of k is a __cuda_array_interface__ array that is not contiguous\n"
            "Fix: pass a contiguous copy of x"
        )


def test_a_masked_array_is_refused():
    assert refusal(Exposed(mask=Exposed())) == (
        "x of k is an array with a mask\nFix: pass its elements without the mask"
    )


@pytest.mark.usefixtures("torch", "cupy")
def test_another_type_is_refused_in_the_words_of_its_library():
    assert refusal(Tensor(dtype="float64")) == (
        "x of k is float64, not f32 (float32)\n"
        "Fix: pass x.to(torch.float32), or declare it for float64"
    )
    assert refusal(Cupy(dtype="int32")) == (
        "x of k is int32, not f32 (float32)\n"
        "Fix: pass x.astype(cupy.float32), or declare it for int32"
    )


@pytest.mark.usefixtures("torch")
def test_bool_arrays_are_u8_and_bfloat16_is_its_own_type():
    assert view(Tensor(dtype="bool"), dtype=DataType.U8).dtype == np.bool_
    assert view(Tensor(dtype="bfloat16"), dtype=DataType.BF16).dtype == np.uint16
    assert "is bfloat16, not u16" in refusal(Tensor(dtype="bfloat16"), dtype=DataType.U16)


@pytest.mark.usefixtures("torch")
def test_a_torch_tensor_on_the_host_is_refused():
    assert refusal(Tensor(device=-1)) == (
        "x of k is a torch array in host memory\n"
        "Fix: pass x.cuda(), or x.numpy() to copy it for each call"
    )


@pytest.mark.usefixtures("torch")
def test_a_torch_tensor_that_requires_grad_is_refused():
    assert refusal(Tensor(requires_grad=True)) == (
        "x of k is a torch tensor that requires grad\nFix: pass x.detach()"
    )


@pytest.mark.usefixtures("torch")
def test_a_torch_tensor_that_is_sparse_is_refused():
    assert refusal(Tensor(layout="torch.sparse_coo")) == (
        "x of k is a torch tensor of layout torch.sparse_coo\nFix: pass x.to_dense()"
    )


@pytest.mark.usefixtures("torch")
def test_a_torch_tensor_that_is_not_contiguous_is_refused():
    assert refusal(Tensor(contiguous=False)) == (
        "x of k is a torch array that is not contiguous\nFix: pass x.contiguous()"
    )


@pytest.mark.usefixtures("torch", "cupy")
def test_what_is_written_is_refused_with_advice_that_brings_the_results_back():
    assert refusal(Tensor(contiguous=False), written=True) == (
        "x of k is a torch array that is not contiguous\n"
        "Fix: pass c = x.contiguous(), and then copy the result back: x.copy_(c)"
    )
    assert refusal(Cupy(contiguous=False), written=True) == (
        "x of k is a cupy array that is not contiguous\n"
        "Fix: pass c = cupy.ascontiguousarray(x), and then copy the result back: x[...] = c"
    )
    assert refusal(Tensor(dtype="float64"), written=True) == (
        "x of k is float64, not f32 (float32)\n"
        "Fix: make x an array of float32 from the start: "
        "the results of a converted copy would not be in x"
    )
    assert refusal(Tensor(device=-1), written=True) == (
        "x of k is a torch array in host memory\n"
        "Fix: pass x.numpy(), which is written in place, or make x on the device from the start"
    )


@pytest.mark.usefixtures("torch", "cupy")
def test_a_complex_array_is_not_to_be_cut_to_its_real_part():
    for value in (Tensor(dtype="complex64"), Cupy(dtype="complex64")):
        assert refusal(value) == (
            "x of k is complex64, not f32 (float32)\n"
            "Fix: declare two arrays, and pass x.real and x.imag"
        )


@pytest.mark.usefixtures("torch")
def test_a_subclass_of_a_tensor_is_a_tensor():
    class Parameter(Tensor):
        pass

    assert foreign_kinds.kind_of(Parameter()).name == "torch"


@pytest.mark.usefixtures("torch")
def test_a_device_that_vyre_does_not_see_is_refused():
    assert refusal(Tensor(device=2)) == (
        "x of k is on CUDA device 2; Vyre sees 2\n"
        "Fix: set CUDA_VISIBLE_DEVICES before the first library uses CUDA, and not afterwards"
    )


def looked(array):
    """The address of an array, and what a launch on it depends on."""
    keys, arguments = [], []
    foreign_kinds.kind_of(array).look([array], keys, arguments)
    return arguments, tuple(keys)


@pytest.mark.usefixtures("torch", "cupy")
def test_equal_keys_mean_the_same_launch_and_others_do_not():
    tensors = [
        Tensor(4),
        Tensor(5),
        Tensor(4, device=1),
        Tensor(4, at=0x1004),
        Tensor(4, contiguous=False),
        Tensor(4, requires_grad=True),
        Tensor(4, neg=True),
    ]
    dtype = tensors[0].dtype
    for tensor in tensors:
        tensor.dtype = dtype  # torch's are the same objects
    keys = [looked(tensor) for tensor in tensors]

    assert len({key for _, key in keys}) == len(tensors)
    assert keys[0][0] == [0x1000]
    same = Tensor(4, at=0x8000)
    same.dtype = dtype
    assert looked(same)[1] == keys[0][1]

    arrays = [Cupy(4), Cupy(5), Cupy(4, device=1), Cupy(4, at=0x2004), Cupy(4, dtype="int32")]
    assert len({looked(array)[1] for array in arrays}) == len(arrays)
    assert looked(Cupy(4, at=0x8000))[1] == looked(arrays[0])[1]

    exposed = [Exposed(), Exposed(data=(0x1000, True)), Exposed(mask=Exposed()), Exposed(stream=7)]
    assert len({looked(one)[1] for one in exposed}) == len(exposed)


class Stood:
    """A site that launches whatever it is given."""

    asked, numbers, chosen = (), None, None
    launcher = SimpleNamespace(warmed=lambda numbers, schedule: None)  # noqa: ARG005  # as called

    def __init__(self):
        self.launched = []
        self.best = SimpleNamespace(
            schedule=None,
            grid=(1, 1, 1),
            workgroup=(1, 1, 1),
            words=b"",
            binary=self.launched.append,
            start=lambda arguments, _: self.launched.append(arguments),
        )

    def tick(self):
        """Nobody counts."""


CHANGES = {
    "moved": {"_at": 0x2000},
    "reshaped": {"shape": (2, 2)},
    "transposed": {"_contiguous": False},
    "of another type": {"dtype": FakeDType("float64")},
    "to be differentiated": {"requires_grad": True},
}


@pytest.mark.usefixtures("torch")
def test_a_prepared_launch_refuses_an_array_that_lies_elsewhere(cuda):
    x, site = Tensor(4), Stood()
    launcher = SimpleNamespace(device=cuda[0], kernel=SimpleNamespace(name="k"), order=("x",))
    launch = Launch(launcher, site, {"x": view(x)}, {}, None, ())
    launch()
    assert site.launched == [[0x1000]]

    x._at = 0x2000

    with pytest.raises(InvalidInput) as caught:
        launch()
    assert str(caught.value) == (
        "x of k lies elsewhere since it was prepared\nFix: prepare the call again"
    )
    assert len(site.launched) == 1


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_repeated_call_takes_the_long_way_for_an_array_that_was_changed_in_place(cuda, change):
    x, site = Tensor(4), Stood()
    params = (Param(name="x", role=Role.INOUT, dtype=F32),)
    kernel = SimpleNamespace(name="k", params=params)
    launcher = SimpleNamespace(device=cuda[0], order=("x",))
    repeat = Repeat(kernel, launcher, site, {"x": view(x)})
    form = Form(places=(0,), several=False, inputs=1, by_name=0, whole=())
    same = same_of(repeat, form, [x, None], [x.data_ptr()], {(): site}, lambda _: None)
    assert all(same([x, None], None, {}, None) is not LONGER for _ in range(4))

    for name, value in change.items():
        setattr(x, name, value)

    assert same([x, None], None, {}, None) is LONGER
    assert len(site.launched) == 4


def test_an_array_that_does_not_say_where_it_is_is_refused():
    assert refusal(Exposed(typestr="no type")) == (
        "x of k is a __cuda_array_interface__ array that does not say where it is: "
        "data type 'no type' not understood\n"
        "Fix: pass a copy of x that its library can read itself"
    )


def test_outputs_are_of_the_inputs_kind(torch):
    x = view(Tensor(4, device=1))

    made = x.zeros((2, 3), F32)

    assert torch.made == [((2, 3), "float32", "cuda:1")]
    assert type(foreign.result_of(made)) is Tensor
    assert (made.shape, made.device) == ((2, 3), x.device)
    view(Tensor(dtype="bfloat16"), dtype=DataType.BF16).zeros((4,), DataType.BF16)
    assert torch.made[-1] == ((4,), "bfloat16", "cuda:0")


def test_outputs_that_will_be_set_are_not_filled_first(torch):
    torch.empty = lambda shape, dtype, device: ("empty", shape, dtype.name, device)
    kind, seen = (one := view(Tensor(2, 3, device=1))).kind, one.seen

    assert kind.maker(seen, True)() == ("empty", (2, 3), "float32", "cuda:1")
    assert kind.maker(seen, False)().data_ptr() == 0x7000


@pytest.mark.usefixtures("torch")
def test_a_copy_is_made_by_the_library_or_on_the_array_s_stream(cuda):
    assert view(Tensor(4)).copy().argument == 0x5000

    view(Exposed(stream=7)).copy()

    assert cuda[0].backend.copied == [(0x1000, 0x9000, 16, 7)]


def test_the_stream_is_the_library_s_current_one(torch, cupy):
    torch.current = cupy.current = 0x50
    arrays = {"x": view(Tensor()), "y": view(Cupy())}

    assert foreign.stream_for(arrays) == 0x50
    assert foreign.stream_for(arrays, 0x60) == 0x60
    assert foreign.stream_for({}) == 0


def test_a_repeated_call_runs_where_all_libraries_are(torch, cupy, cuda):
    torch.current = cupy.current = 0x50
    order = Order(cuda[0].backend, [view(Tensor()), view(Cupy()), view(Tensor())])
    assert len(order.currents) == 2
    assert order.where(None) == 0x50

    torch.current = 0x60

    assert order.where(None) is None
    assert order.where(0x50) == 0x50
    assert order.where("main") is None
    assert cuda[0].backend.ordered == [(0x60, 0x50)]


@pytest.mark.usefixtures("torch")
def test_a_repeated_call_runs_where_arrays_say_that_they_are(cuda):
    backend = cuda[0].backend

    assert Order(backend, [view(Exposed(stream=7)), view(Exposed())]).where(None) == 7
    assert Order(backend, [view(Exposed(stream=1))]).where(None) == 0
    assert Order(backend, [view(Exposed(stream=7)), view(Tensor())]).where(None) is None
    assert Order(backend, []).where(None) == 0


@pytest.mark.usefixtures("cupy")
def test_libraries_on_different_streams_are_refused(torch):
    torch.current = 0x50
    arrays = {"x": view(Tensor()), "y": view(Cupy())}

    with pytest.raises(InvalidInput) as caught:
        foreign.stream_for(arrays, where="saxpy")

    assert str(caught.value) == (
        "the arrays of saxpy are on different streams: "
        "x (torch) on stream 0x50, y (cupy) on the default stream\n"
        "Fix: make one stream current in each library, or pass stream= and order the others by it"
    )


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (0, 0),
        (1, 0),
        (0x50, 0x50),
        (SimpleNamespace(cuda_stream=0x51), 0x51),
        (SimpleNamespace(ptr=0x52), 0x52),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 0x53)), 0x53),
        (SimpleNamespace(__cuda_stream__=(0, 1)), 0),
    ],
)
def test_a_stream_of_any_library_has_a_handle(stream, handle):
    assert foreign.handle_of(stream) == handle


def test_what_is_no_stream_is_refused():
    with pytest.raises(InvalidInput) as caught:
        foreign.handle_of("main")

    assert str(caught.value) == (
        "stream= is a str, not a CUDA stream\n"
        "Fix: pass a stream of CuPy, torch or cuda.core, or its handle as an integer"
    )


def test_views_of_one_allocation_overlap_by_their_bytes():
    whole, tail, after = (view(Exposed(data=(at, False))) for at in (0x1000, 0x100C, 0x1010))

    assert foreign.overlap(whole, tail)
    assert not foreign.overlap(whole, after)
    assert foreign.identical(whole, view(Exposed()))
    assert not foreign.identical(whole, tail)
    assert not foreign.overlap(whole, view(Exposed(shape=(0,))))


class Packed:
    """An array on a CUDA device that tells by DLPack alone."""

    def __init__(self, at=0x1000, shape=(2, 3), code=2, bits=32, strides=None, device=2):
        self.asked = []
        self._device = device
        self._sizes = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self._tensor = foreign_kinds._DLTensor(
            at,
            foreign_kinds._DLDevice(2, 1),
            len(shape),
            foreign_kinds._DLDataType(code, bits, 1),
            self._sizes,
            self._strides,
            8,
        )

    def __dlpack_device__(self):
        return (self._device, 1)

    def __dlpack__(self, stream):
        self.asked.append(stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self._tensor), b"dltensor", None)


def test_an_array_that_tells_by_dlpack_alone_is_used_after_the_legacy_stream(cuda):
    source = Packed()

    seen = view(source)

    assert (seen.argument, seen.shape, seen.dtype) == (0x1008, (2, 3), np.dtype(np.float32))
    assert seen.device is cuda[1]
    assert source.asked == [1]
    assert foreign.stream_for({"x": seen}) == 0


def test_dlpack_tells_types_and_strides():
    assert view(Packed(code=4, bits=16), dtype=DataType.BF16).dtype == np.uint16
    assert view(Packed(code=6, bits=8), dtype=DataType.U8).dtype == np.bool_
    assert view(Packed(code=0, bits=64), dtype=DataType.I64).dtype == np.int64
    assert "is not contiguous" in refusal(Packed(strides=(1, 2)))
    assert view(Packed(device=1)) is None  # of the host


def test_real_torch_tensors_on_the_host_are_refused():
    torch = pytest.importorskip("torch")

    assert "is a torch array in host memory" in refusal(torch.zeros(4))
