"""What is said where the library of an adapter is not installed, and that none is loaded before."""

import subprocess
import sys

import pytest

import vyre

LIBRARIES = {
    "cupy": (
        "cupy",
        'vyre.cupy needs cupy, which is not installed\nFix: pip install "vyre[cupy]"',
    ),
    "numba": (
        "numba",
        'vyre.numba needs numba-cuda, which is not installed\nFix: pip install "vyre[numba]"',
    ),
    "opencl": (
        "pyopencl",
        'vyre.opencl needs pyopencl, which is not installed\nFix: pip install "vyre[opencl]"',
    ),
    "triton": (
        "triton",
        'vyre.triton needs triton, which is not installed\nFix: pip install "vyre[triton]"',
    ),
    "torch": ("torch", "vyre.torch needs torch, which is not installed\nFix: pip install torch"),
}


def printed(code):
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return shown.stdout


@pytest.mark.parametrize("adapter", LIBRARIES)
def test_a_library_that_is_not_there_is_named_with_what_to_do(adapter):
    library, said = LIBRARIES[adapter]
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        f"try:\n    import vyre.{adapter}\n"
        "except ModuleNotFoundError as error:\n    print(error.name, error)"
    )

    assert printed(code) == f"{library} {said}\n"


@pytest.mark.parametrize("adapter", LIBRARIES)
def test_an_adapter_is_loaded_where_it_is_first_named(adapter):
    library, said = LIBRARIES[adapter]
    code = (
        f"import sys, vyre; sys.modules[{library!r}] = None\n"
        f"print('vyre.adapter.{adapter}' in sys.modules)\n"
        f"try:\n    vyre.{adapter}\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )

    assert printed(code) == f"False\n{said}\n"


def test_the_bundled_kernels_are_loaded_where_they_are_first_named():
    code = (
        "import sys, vyre; print('vyre.kernels' in sys.modules); print(vyre.kernels.saxpy.__name__)"
    )

    assert printed(code) == "False\nsaxpy\n"


def test_a_name_that_vyre_does_not_have_is_an_error_as_of_any_module():
    with pytest.raises(
        AttributeError, match=r"^module 'vyre' has no attribute 'kernal'$"
    ) as raised:
        vyre.kernal  # noqa: B018  # it is asked for
    assert (raised.value.name, raised.value.obj) == ("kernal", vyre)


@pytest.mark.parametrize("adapter", LIBRARIES)
def test_something_else_that_is_not_there_is_said_as_it_is(adapter):
    library, _ = LIBRARIES[adapter]
    code = (
        f"import sys, types; sys.modules[{library!r}] = types.ModuleType({library!r})\n"
        f"sys.modules['vyre.adapter.{adapter}'] = None\n"
        f"try:\n    import vyre.{adapter}\n"
        "except ModuleNotFoundError as error:\n    print(error.name)"
    )

    assert printed(code).startswith(f"vyre.adapter.{adapter}")


def test_a_triton_that_is_too_old_is_said_with_what_to_do():
    code = (
        "import sys, types\n"
        "old = types.ModuleType('triton'); old.__path__ = []; sys.modules['triton'] = old\n"
        "try:\n    import vyre.triton\n"
        "except ModuleNotFoundError as error:\n    print(error.name, error)"
    )

    assert printed(code) == (
        "triton.runtime vyre.triton needs triton 3.6 or later, and here it says: "
        "No module named 'triton.runtime'\n"
        'Fix: pip install "vyre[triton]"\n'
    )


@pytest.mark.parametrize(
    ("version", "without", "said"),
    [
        ("2.5.1", "del numpy.row_stack", "module 'numpy' has no attribute 'row_stack'"),
        ("2.4.6", "del numpy.row_stack", "module 'numpy' has no attribute 'row_stack'"),
        ("2.7.0", "numpy.__version__ = '2.7.0'", "Numba needs NumPy 2."),
    ],
)
def test_a_numpy_that_numba_cannot_compile_with_is_said_with_what_to_do(version, without, said):
    pytest.importorskip("numba.cuda")
    code = (
        "import sys, numpy, warnings; warnings.simplefilter('ignore')\n"
        "from importlib import metadata; usual = metadata.version\n"
        f"metadata.version = lambda name: {version!r} if name == 'numpy' else usual(name)\n"
        f"{without}\n"
        "try:\n    import vyre.numba\n"
        "except ImportError as error:\n    print(error.name, error)"
    )

    problem, fix = printed(code).splitlines()

    assert problem.startswith("numba.cuda vyre.numba cannot use what is installed, numba-cuda ")
    assert f", numpy {version}: {said}" in problem
    wanted = '"numpy<2.5"' if version > "2.5" else '--upgrade "vyre[numba]"'
    assert fix == f"Fix: pip install {wanted}"


def test_a_numpy_that_an_older_numba_refuses_is_said_as_well():
    pytest.importorskip("numba.cuda")
    code = (
        "import numpy; from importlib import metadata; usual = metadata.version\n"
        "def version(name):\n"
        "    if name == 'numba-cuda': raise metadata.PackageNotFoundError(name)\n"
        "    return usual(name)\n"
        "metadata.version, numpy.__version__ = version, '2.7.0'\n"
        "try:\n    import vyre.numba\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )

    problem, fix = printed(code).splitlines()

    assert problem.startswith("ImportError vyre.numba cannot use what is installed, numba 0.")
    assert fix.startswith("Fix: pip install ")


def test_tuning_a_function_loads_no_library_of_others():
    code = (
        "import sys, vyre\n"
        "f = vyre.tuned(lambda x, n: x, space={'n': (1, 2)}, check=True)\n"
        "with vyre.mode('off'):\n    f(1)\n    f.explain()\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'pyopencl', 'torch', 'triton', 'cupy', 'numba', 'llvmlite'}))"
    )

    assert printed(code) == "[]\n"
