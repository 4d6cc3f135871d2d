"""Files that describe a template and its arguments are read, and nothing of them is run."""

import json
from pathlib import Path

import numpy as np
import pytest

from vyre.adapter.template import description
from vyre.adapter.template.description import described_by, described_by_t1
from vyre.adapter.template.sizes import Sizes
from vyre.errors import InvalidInput

OURS = {
    "name": "add",
    "params": {"block_size_x": [32, 64]},
    "restrictions": ["block_size_x < 64"],
    "size": [100, 3],
    "grid_div_x": ["block_size_x"],
    "arguments": [
        {"type": "float *", "size": "size_x * size_y", "fill": "zeros"},
        {"type": "float32", "size": 4},
        {"type": "uint", "size": 4, "fill": "index"},
        {"type": "int", "size": 3, "fill": 7},
        {"type": "double", "value": 2},
        {"type": "unsigned long long", "value": 5},
        {"file": "held.npy"},
    ],
}


@pytest.fixture
def ours(tmp_path):
    np.save(tmp_path / "held.npy", np.arange(3, dtype="i2"))

    def write(text=None, **changed):
        said = {key: value for key, value in {**OURS, **changed}.items() if value is not ...}
        (tmp_path / "p.json").write_text(json.dumps(said) if text is None else text)
        return described_by(Path("add.cl"), tmp_path / "p.json")

    return write


def test_arguments_are_made_the_same_each_time(ours):
    found, again = ours(), ours()

    zeros, drawn, counted, filled, number, wide, held = found.arguments
    assert (zeros.dtype.name, zeros.size, zeros.any()) == ("float32", 300, False)
    assert drawn.dtype == "f4"
    assert (drawn == again.arguments[1]).all()
    assert 0 <= drawn.min() < drawn.max() < 1
    assert (counted.dtype.name, counted.tolist()) == ("uint32", [0, 1, 2, 3])
    assert filled.tolist() == [7, 7, 7]
    assert number == np.float64(2)
    assert isinstance(number, np.float64)
    assert isinstance(wide, np.uint64)
    assert (held.dtype.name, held.tolist()) == ("int16", [0, 1, 2])


def test_the_rest_is_what_a_template_is_given(ours):
    found = ours()

    assert (found.name, found.source) == ("add", Path("add.cl"))
    assert found.given == {
        "params": {"block_size_x": [32, 64]},
        "restrictions": ["block_size_x < 64"],
        "size": (100, 3),
        "grid_div_x": ("block_size_x",),
    }


@pytest.mark.parametrize(
    ("changed", "problem", "fix"),
    [
        ({"text": "{"}, "p.json line 1, column 2 is not JSON: Expecting property name enclosed in "
         "double quotes", "mend that line"),
        ({"text": f'{{"name": {"9" * 5_000}}}'}, "p.json is not JSON: Exceeds the limit (4300 "
         "digits) for integer string conversion: value has 5000 digits; use "
         "sys.set_int_max_str_digits() to increase the limit", "write it as JSON, in UTF-8"),
        ({"arguments": [{"type": "float", "value": 1e300}]}, "argument 0 of p.json is 1e+300, not "
         "float32", "give such a number"),
        ({"text": "[1]"}, "p.json holds no JSON object", "begin it with {"),
        ({"parms": 1}, "p.json says 'parms', which means nothing", "use name, params, "
         "restrictions, size, grid, block, grid_div_x, grid_div_y, grid_div_z, shared, options, "
         "language, check, rtol, atol, arguments"),
        ({"name": ...}, "p.json does not say 'name'", "say name, params and arguments at least"),
        ({"arguments": 3}, "arguments of p.json are 3", "give a list of them"),
        ({"arguments": [3]}, "argument 0 of p.json is 3",
         'give {"type": "float32", "size": 1000}'),
        ({"arguments": [{"typ": 3}]}, "argument 0 of p.json says typ",
         "say type and value, of a number; type, size and fill, of an array; or file"),
        ({"arguments": [{"type": "float33", "value": 1}]}, "argument 0 of p.json is of type "
         "'float33'", "use a type of C's or of NumPy's, such as float32"),
        ({"arguments": [{"type": "int", "value": 1.5}]}, "argument 0 of p.json is 1.5, not int32",
         "give such a number"),
        ({"arguments": [{"type": "int", "value": 1 << 40}]}, "argument 0 of p.json is "
         "1099511627776, not int32", "give such a number"),
        ({"arguments": [{"type": "int", "size": "n"}]}, "the size of argument 0 of p.json, 'n', "
         "names 'n'", "name some of size, size_x, size_y"),
        ({"arguments": [{"type": "int", "size": -1}]}, "the size of argument 0 of p.json is -1",
         "give a number of elements"),
        ({"arguments": [{"type": "int", "size": 3, "fill": "x"}]},
         "argument 0 of p.json is filled with 'x'", "use random, zeros, ones, index, or a number"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(ours, tmp_path, changed, problem, fix):
    with pytest.raises(InvalidInput) as caught:
        ours(**changed)

    assert (caught.value.problem.replace(f"{tmp_path}/", ""), caught.value.fix) == (problem, fix)


def test_an_array_for_which_there_is_no_memory_is_said(ours, tmp_path, monkeypatch):
    monkeypatch.setattr(description, "_made", raising(MemoryError))

    with pytest.raises(InvalidInput) as caught:
        ours(arguments=[{"type": "double", "size": 1 << 40}])

    assert str(caught.value).replace(f"{tmp_path}/", "") == (
        "argument 0 of p.json has 1,099,511,627,776 elements of float64, for which there is no "
        "memory\nFix: give it fewer"
    )


def raising(error):
    def raise_(*_):
        raise error

    return raise_


def test_a_file_that_is_no_array_is_said(ours, tmp_path):
    (tmp_path / "held.npy").write_bytes(b"no array")

    with pytest.raises(InvalidInput) as caught:
        ours()

    assert caught.value.problem.startswith(f"argument 6 of {tmp_path}/p.json cannot be read from ")
    assert caught.value.fix == "write it with numpy.save"


T1 = {
    "General": {"BenchmarkName": "add", "TimeUnit": "milliseconds"},
    "ConfigurationSpace": {
        "TuningParameters": [
            {"Name": "block_size_x", "Type": "int", "Values": "[32 * i]".replace(" * i", ", 64")},
            {"Name": "VW", "Type": "int", "Values": "list(range(1, 5))"},
            {"Name": "real", "Type": "string", "Values": "['float', 'double']"},
        ],
        "Conditions": [{"Parameters": ["VW"], "Expression": "VW < 3"}],
    },
    "KernelSpecification": {
        "Language": "OpenCL",
        "KernelName": "add",
        "KernelFile": "add.cl",
        "ProblemSize": [100, "VW * 2"],
        "GridDivX": ["block_size_x", "VW"],
        "GlobalSize": {"X": "7"},
        "LocalSize": {"X": "7"},
        "Arguments": [
            {"Name": "a", "Type": "float", "MemoryType": "Vector", "Size": "100 * VW",
             "FillType": "Random"},
            {"Name": "b", "Type": "float", "MemoryType": "Vector", "Size": 5,
             "FillType": "Constant", "FillValue": 2.5},
            {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 7},
        ],
    },
}  # fmt: skip


@pytest.fixture
def t1(tmp_path):
    (tmp_path / "add.cl").write_text("__kernel void add() {}")

    def write(change=lambda _: None):
        said = json.loads(json.dumps(T1))
        change(said)
        (tmp_path / "t1.json").write_text(json.dumps(said))
        return described_by_t1(tmp_path / "t1.json")

    return write


def test_a_t1_description_is_read_as_kernel_tuner_reads_it(t1, tmp_path):
    found = t1()

    assert found.source == tmp_path / "add.cl"
    assert found.given == {
        "params": {"block_size_x": (32, 64), "VW": (1, 2, 3, 4), "real": ("float", "double")},
        "restrictions": ["VW < 3"],
        "size": (100, "VW * 2"),
        "language": "opencl",
        "grid_div_x": ("block_size_x", "VW"),
        "grid_div_y": None,
        "grid_div_z": None,
    }
    a, b, n = found.arguments
    assert (a.dtype.name, a.size) == ("float32", 400)  # of the largest of each parameter
    assert b.tolist() == [2.5] * 5
    assert (n, type(n)) == (7, np.int32)


@pytest.mark.parametrize("divisors", [None, [], ["block_size_x"], ["VW", 2], "VW * 3"])
def test_its_launches_are_kernel_tuners(t1, divisors):
    util = pytest.importorskip("kernel_tuner.util")
    found = t1(set_in(KERNEL, "GridDivX", divisors))
    settings = {"block_size_x": 32, "VW": 3, "real": "float"}
    size = util.get_problem_size(found.given["size"], settings)

    sizes = Sizes.of(
        tuple(settings),
        "add",
        size=found.given["size"],
        divisors=[found.given[f"grid_div_{axis}"] for axis in "xyz"],
    )
    launch = sizes.launch(settings, sizes.size_of(settings, None, "add"))

    # Kernel Tuner takes an empty list of a description for none.
    names = util.default_block_size_names
    wanted = util.get_grid_dimensions(size, settings, (divisors or None, None, None), names)
    assert (launch.grid, launch.block) == (wanted, (32, 1, 1))


def test_no_workgroup_memory_is_none_that_is_asked_for(t1):
    assert "shared" not in t1(set_in(KERNEL, "SharedMemory", 0)).given
    assert t1(set_in(KERNEL, "SharedMemory", 64)).given["shared"] == 64


def set_in(*path):
    *keys, last, value = path

    def change(said):
        for key in keys:
            said = said[key]
        said[last] = value

    return change


KERNEL, SPACE = "KernelSpecification", "ConfigurationSpace"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (set_in(KERNEL, []), "t1.json has no KernelSpecification, so it is no T1 description"),
        (lambda said: said[KERNEL].pop("ProblemSize"), "t1.json does not say ProblemSize"),
        (set_in(KERNEL, "KernelFile", "k.cl"), "t1.json names 'k.cl', which is not beside it"),
        (set_in(KERNEL, "Language", "HIP"), "t1.json is in 'HIP'"),
        (set_in(KERNEL, "KernelFile", "k" * 5_000), f"t1.json names '{'k' * 57}...{'k' * 58}', "
         "which is not beside it"),
        (set_in(KERNEL, "Arguments", [3]), "t1.json has no list Arguments"),
        (set_in(SPACE, "Conditions", {"Expression": "1"}), "t1.json has no list Conditions"),
        (set_in(KERNEL, "Arguments", 3), "t1.json has no list Arguments"),
        (set_in(KERNEL, "Arguments", 2, "MemoryType", "Image"),
         "argument n of t1.json is a 'Image'"),
        (set_in(KERNEL, "Arguments", 0, "FillType", "Zero"), "argument a of t1.json is filled by "
         "'Zero'"),
        (set_in(SPACE, "TuningParameters", 0, "Type", "bool"), "block_size_x of t1.json is of type "
         "'bool'"),
        (set_in(SPACE, "TuningParameters", 0, "Values", "['a']"), "Values of block_size_x in "
         "t1.json are \"['a']\", of type int"),
        (set_in(SPACE, "TuningParameters", 0, "Values", "__import__('os').system('true')"),
         "Values of block_size_x in t1.json, \"__import__('os').system('true')\", holds a call of "
         "\"__import__('os').system\", which has no place there"),
    ],
)  # fmt: skip
def test_what_is_no_t1_is_said(t1, tmp_path, change, problem):
    with pytest.raises(InvalidInput) as caught:
        t1(change)

    assert caught.value.problem.replace(f"{tmp_path}/", "") == problem
