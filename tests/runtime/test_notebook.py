"""What a notebook shows of kernels, decisions, explanations and counts."""

import numpy as np

import vyre
from vyre import In, Out, f32
from vyre.learn.explain import Explained
from vyre.model import Decision, Reason, Schedule, Workload


@vyre.kernel
def halved(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = 0.5 * x[i]


def test_a_kernel_shows_its_parameters_its_proof_and_its_calls():
    x = vyre.open("reference").array(np.ones(4, np.float32))
    halved(x)

    shown = halved._repr_html_()

    assert "vyre.kernel halved(x: In[f32], out: Out[f32])" in shown
    assert "its result does not depend on how it is launched" in shown
    assert "4 elements on reference:0" in shown
    assert "because</th>" in shown


def test_a_decision_shows_what_runs_and_why_and_leaves_out_what_it_does_not_know():
    workload = Workload(fingerprint=b"", buckets=(), traits=(), device="", toolchain="")
    decision = Decision(
        workload=workload, config=Schedule((64, 4, 1)), reason=Reason.ADOPTED, detail="<1 ms"
    )

    shown = decision._repr_html_()

    assert "64x4" in shown
    assert "adopted: &lt;1 ms" in shown
    assert "confidence" not in shown


def test_counts_show_themselves():
    assert "What learning has come to" in vyre.stats()._repr_html_()


def test_what_comes_from_a_store_is_shown_plain():
    workload = Workload(fingerprint=b"", buckets=(), traits=(), device="", toolchain="")
    decision = Decision(
        workload=workload,
        config=Schedule((64, 1, 1)),
        reason=Reason.ADOPTED,
        detail="\x1b[2J\u202e" + "x" * 100_000,
    )
    explained = Explained(
        covers=(4,),
        device="reference:0",
        decision=decision,
        default=Schedule((32, 1, 1)),
        dispatches=1,
        failures={Schedule((8, 1, 1)): "\x07out of registers\n" + "y" * 100_000},
    )

    for shown in (str(explained), decision._repr_html_()):
        assert all(line.isprintable() for line in shown.split("\n"))
        assert len(shown) < 5_000
    assert "because     adopted: \\x1b[2J\\u202exxx" in str(explained)
