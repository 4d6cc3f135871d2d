"""Kernels of CUDA C++, as NVRTC makes PTX of them for two generations of GPUs."""

import re
import shutil
from random import Random

import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from vyre.adapter.ptx.free import why_not
from vyre.backend.cuda import nvrtc
from vyre.testing import block_drafts
from vyre.testing.block_kernels import PROVED, PROVED_WITH_STEPS, REFUSED, source

ARCHITECTURES = ("90", "100")
OPTIONS = ("--std=c++17", "-ftz=true", "--device-as-default-execution-space")


def compiled(bodies, architecture, *options):
    """What NVRTC makes of kernels, each as a module of its own with what stands before all."""
    text = "\n".join(source(name, body) for name, body in bodies.items())
    made = nvrtc.ptx(text, (f"-arch=compute_{architecture}", *OPTIONS, *options))
    assert isinstance(made, str), made.log
    entries = list(re.finditer(r"(?:\.visible )?\.entry k_(\w+)\(.*?\n}\n", made, re.DOTALL))
    before = re.sub(r"\.func.*?\n;", "", made[: entries[0].start()], flags=re.DOTALL)
    return {one[1]: before + one[0] for one in entries}


def lacks(made, name, *, steps=True):
    return why_not(made[name], f"k_{name}", steps=steps)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def proved(request):
    return compiled(PROVED, request.param)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def refused(request):
    return compiled({name: body for name, (body, _) in REFUSED.items()}, request.param)


def test_what_follows_from_places_alone_is_proved(proved):
    assert {name: lacks(proved, name, steps=False) for name in PROVED} == dict.fromkeys(PROVED)
    assert len(PROVED) >= 40


def test_what_asks_for_more_is_refused_with_the_reason(refused):
    found = {name: str(lacks(refused, name)) for name in REFUSED}

    assert {name: why for name, why in found.items() if REFUSED[name][1] not in why} == {}
    assert "None" not in found.values()
    assert len(REFUSED) >= 80


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_number_of_threads_may_be_asked_for_where_it_stays(architecture):
    made = compiled(PROVED_WITH_STEPS, architecture)

    for name in PROVED_WITH_STEPS:
        assert lacks(made, name) is None, name
        assert "outside of a thread's place" in str(lacks(made, name, steps=False)), name


def test_lines_of_a_source_are_nothing_to_a_proof():
    made = compiled(PROVED, "90", "--generate-line-info")

    assert all(".loc" in made[name] for name in PROVED if name != "nothing")
    assert [name for name in PROVED if lacks(made, name, steps=False)] == []


def test_a_build_for_a_debugger_is_read_or_refused_and_no_more():
    """It keeps everything in a thread's own memory, which nobody follows there."""
    bodies = {name: PROVED[name] for name in ("map", "in_a_function", "row_sum")}
    made = compiled({**bodies, "thread": REFUSED["thread"][0]}, "90", "--device-debug")

    assert lacks(made, "thread") is not None
    assert isinstance(lacks(made, "in_a_function"), str)


MUTATIONS = (
    (r"%tid\.x", "%tid.y"),
    (r"%tid\.x", "%tid.z"),
    (r"%tid\.x", "%ctaid.x"),
    (r"%tid\.x", "%laneid"),
    (r"%tid\.y", "%tid.x"),
    (r"%ctaid\.x", "%nctaid.x"),
    (r"%ctaid\.x", "%ctaid.y"),
    (r"%ctaid\.x", "%tid.x"),
    (r"%ctaid\.x", "%clusterid.x"),
    (r"%ctaid\.x", "7"),
    (r"%ntid\.x", "256"),
    (r"%ntid\.x", "%nctaid.x"),
    (r"%ntid\.x", "%ntid.y"),
    (r"%ntid\.y", "%ntid.x"),
    (r"%ntid\.x", "%tid.x"),
    (r"mad\.lo\.s32 (\s*%r\d+, %r\d+, %r\d+), TID;", r"mul.lo.s32 \1;"),
    (r"mad\.lo\.s32 (\s*%r\d+, %r\d+, %r\d+), TID;", r"add.s32 \1;"),
    (r"mad\.lo\.s32 (\s*%r\d+, %r\d+, %r\d+, TID);", r"mad.hi.s32 \1;"),
    (r"mad\.lo\.s32 (\s*%r\d+, %r\d+, %r\d+, TID);", r"mad24.lo.s32 \1;"),
    (r"mad\.lo\.s32 (\s*%r\d+, %r\d+, %r\d+, TID);", r"mad.lo.sat.s32 \1;"),
    (r"ld\.global\.", "ld.volatile.global."),
    (r"ld\.global\.", "ld.shared."),
    (r"ld\.global\.", "ld.relaxed.gpu."),
    (r"ld\.global\.", "ld.acquire.sys.global."),
    (r"ld\.global\.", "ld.acquirer.global."),
    (r"st\.global\.", "st.volatile.global."),
    (r"st\.global\.", "st.shared."),
    (r"st\.global\.", "red.global.add."),
    (r"cvta\.to\.global\.", "cvta.to.shared."),
    (r"\tret;", "\tbar.sync 0; ret;"),
    (r"\tret;", "\ttrap;"),
    (r"\tret;", "\tbrx.idx %r1, l;"),
    (r"\tret;", "\tsomething.new;"),
    (r"\tret;", "\t"),
    (r"setp\.ge\.s32", "setp.ge.s32.new"),
    (r"(@%p\d+ )bra ", r"\1bra.uni "),
    (r"\.visible \.entry (\w+)\(", r".visible .entry \1_("),
    (r"\)\n\{", ")\n.reqntid 128, 1, 1\n{"),
    (r"\)\n\{", ")\n.explicitcluster\n{"),
)
"""What turns a kernel into another one: a pattern, of which one is changed, and into what."""


def test_a_kernel_with_a_mistake_in_it_is_refused(proved):
    tried = 0
    for name, text in proved.items():
        threads = re.findall(r"mov\.u32 \s*(%r\d+), %tid", text)
        for pattern, other in MUTATIONS:
            for found in re.finditer(pattern.replace("TID", f"(?:{'|'.join(threads)})"), text):
                made = text[: found.start()] + found.expand(other) + text[found.end() :]
                tried += 1
                assert why_not(made, f"k_{name}", steps=True) is not None, (name, pattern, other)
    assert tried > 1500


@pytest.mark.skipif(shutil.which("g++") is None, reason="they run on the host")
def test_no_kernel_drawn_at_random_is_proved_that_does_otherwise_on_the_host(tmp_path):
    rng = Random(36)
    drafts = [block_drafts.draft(f"k{number}", rng) for number in range(60)]
    text = block_drafts.HELPED + "\n".join(one.text for one in drafts)
    counts = {}
    made = [nvrtc.ptx(text, (f"-arch=compute_{one}", "--std=c++17")) for one in ARCHITECTURES]

    for one, same in block_drafts.on_host(drafts, tmp_path):
        for found in made:
            lacks = why_not(found, one.name, steps=True)
            assert lacks is not None or same, one.text
            counts[lacks is None, same] = counts.get((lacks is None, same), 0) + 1

    assert counts[True, True] > 40
    assert counts[False, False] > 10
