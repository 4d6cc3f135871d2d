"""What a code writes down of a program with reductions, what is proved of it, what is refused."""

from dataclasses import replace

import pytest

import vyre
from vyre import In, Out, f32
from vyre.analysis import analyse
from vyre.analysis.teams import formed, refuse_teams
from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.ir.expr import Id, IdKind, Load
from vyre.ir.node import Reduce
from vyre.ir.team import covers_rows, why_none_beside, why_none_bring, why_nothing_kept
from vyre.ir.text import statement_text
from vyre.ir.walk import all_expressions, expressions, statements
from vyre.model import Code, Order
from vyre.testing import reducers


@vyre.kernel
def plain(x: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = x[i]


@vyre.kernel
def twice(x: In[f32, 2], out: Out[f32]):
    j = vyre.gid()
    top = max(x[i, j] for i in range(len(x)))
    out[j] = sum(vyre.exp(x[i, j] - top) for i in range(len(x)))


@pytest.mark.parametrize(
    ("kernel", "code", "error", "text"),
    [
        (
            plain,
            Code(lanes=32),
            UnsupportedFeature,
            "teams of 32 lanes: there is no reduction\nFix: use Code(lanes=1)",
        ),
        (
            reducers.running,
            Code(lanes=64),
            UnsupportedFeature,
            "teams of 64 lanes: it may read 'x' where it has stored to it\nFix: use Code(lanes=1)",
        ),
        (
            reducers.residual,
            Code(lanes=16),
            InvalidInput,
            "teams of 16 lanes\nFix: use a power of two from 32 on, or 1",
        ),
        (
            reducers.residual,
            Code(lanes=96),
            InvalidInput,
            "teams of 96 lanes\nFix: use a power of two from 32 on, or 1",
        ),
        (
            reducers.dot,
            Code(lanes=32, shares=3),
            InvalidInput,
            "3 shares of a result\nFix: use a power of two",
        ),
        (
            reducers.residual,
            Code(lanes=32, across=True),
            InvalidInput,
            "a team that stands for a row of positions along x\nFix: use across=False",
        ),
        (
            reducers.softmax,
            Code(lanes=32),
            InvalidInput,
            "a team that does not stand for a row of positions along x\nFix: use across=True",
        ),
        (
            reducers.dot,
            Code(lanes=32, keeps=4),
            UnsupportedFeature,
            "4 rounds kept by each lane: no round of one loop computes what a round of an earlier "
            "one has\nFix: use keeps=0",
        ),
        (
            reducers.softmax_rows,
            Code(keeps=4),
            InvalidInput,
            "4 rounds kept by each lane of no team\nFix: use lanes=32",
        ),
        (
            reducers.softmax_rows,
            Code(lanes=32, keeps=4, shares=2),
            InvalidInput,
            "4 rounds kept by each lane, and 2 shares of a result\nFix: use one of the two",
        ),
        (
            reducers.softmax_rows,
            Code(keeps=3),
            InvalidInput,
            "3 rounds kept by each lane\nFix: use a power of two up to 32",
        ),
        (
            reducers.softmax_rows,
            Code(lanes=32, keeps=1 << 40),
            InvalidInput,
            "1099511627776 rounds kept by each lane\nFix: use a power of two up to 32",
        ),
        (
            reducers.softmax_rows,
            Code(lanes=64, keeps=8),
            InvalidInput,
            "8 rounds kept by each lane of 64\n"
            "Fix: use keeps=32: a row of lanes has a block of rounds, 32 of each",
        ),
        (
            reducers.softmax,
            Code(lanes=32, across=True, items=2, order=Order.BLOCKED),
            UnsupportedFeature,
            "2 items of a team: a team stands for a row of positions\nFix: use items=1",
        ),
        (
            reducers.softmax_rows,
            Code(lanes=32, items=2, order=Order.BLOCKED),
            UnsupportedFeature,
            "2 items of a team: it does more than to reduce, and to store what that comes to\n"
            "Fix: use items=1",
        ),
        (
            reducers.residual,
            Code(lanes=32, items=2),
            InvalidInput,
            "2 items of a team, strided\n"
            "Fix: use order=Order.BLOCKED: the results of a team are side by side",
        ),
        (
            reducers.residual,
            Code(lanes=32, items=9, order=Order.BLOCKED),
            InvalidInput,
            "9 items of a team\nFix: use at most 8",
        ),
        (
            reducers.residual,
            Code(lanes=32, items=2, shares=2, order=Order.BLOCKED),
            InvalidInput,
            "2 items of a team that shares a result, or keeps rounds\nFix: use items=1",
        ),
        (
            reducers.residual,
            Code(shares=2),
            InvalidInput,
            "2 shares of a result without a team\nFix: use Code(lanes=32, shares=2)",
        ),
        (
            reducers.column_means,
            Code(lanes=32, abreast=3),
            InvalidInput,
            "3 teams abreast\nFix: use a power of two up to 32",
        ),
        (
            reducers.column_means,
            Code(lanes=32, abreast=64),
            InvalidInput,
            "64 teams abreast\nFix: use a power of two up to 32",
        ),
        (
            reducers.column_means,
            Code(lanes=64, abreast=8),
            InvalidInput,
            "8 teams abreast, of 64 lanes each\nFix: use lanes=32",
        ),
        (
            reducers.column_means,
            Code(abreast=8),
            InvalidInput,
            "8 teams abreast, of 1 lane each\nFix: use lanes=32",
        ),
        (
            twice,
            Code(lanes=32, abreast=8, keeps=4),
            InvalidInput,
            "8 teams abreast, of 4 rounds kept each\nFix: use abreast=1",
        ),
        (
            reducers.column_means,
            Code(lanes=32, abreast=8, items=2, order=Order.BLOCKED),
            InvalidInput,
            "8 teams abreast, of 2 results each\nFix: use abreast=1",
        ),
        (
            reducers.column_means,
            Code(lanes=32, abreast=8, across=True),
            InvalidInput,
            "a team that stands for a row of positions along x\nFix: use across=False",
        ),
        (
            reducers.softmax,
            Code(lanes=32, abreast=8, across=True),
            UnsupportedFeature,
            "8 teams abreast: a team stands for a row of positions\nFix: use abreast=1",
        ),
        (
            reducers.csr,
            Code(lanes=32, abreast=8),
            UnsupportedFeature,
            "8 teams abreast: its position along x, or what it stores to, says how many rounds "
            "there are\nFix: use abreast=1",
        ),
        (
            reducers.dot,
            Code(lanes=32, abreast=8),
            UnsupportedFeature,
            "8 teams abreast: it asks for no position along x\nFix: use abreast=1",
        ),
        (
            plain,
            Code(lanes=32, abreast=8),
            UnsupportedFeature,
            "teams of 32 lanes: there is no reduction\nFix: use Code(lanes=1)",
        ),
        (
            reducers.softmax_rows,
            Code(lanes=32, depth=1024, group=(512, 1, 1)),
            UnsupportedFeature,
            "depth 1024 of teams: it does more than to reduce, and to store what that comes to\n"
            "Fix: use depth=0",
        ),
        (
            reducers.residual,
            Code(lanes=32, depth=64, group=(512, 1, 1)),
            InvalidInput,
            "depth 64 of teams\nFix: use depth=1024: teams go through a block of rounds together",
        ),
        (
            reducers.residual,
            Code(lanes=64, depth=1024, group=(512, 1, 1)),
            InvalidInput,
            "depth 1024 of teams, of 64 lanes each\nFix: use lanes=32",
        ),
        (
            reducers.residual,
            Code(lanes=32, depth=1024, shares=2, group=(512, 1, 1)),
            InvalidInput,
            "depth 1024 of teams that share a result, keep rounds or stand abreast\n"
            "Fix: use depth=0",
        ),
        (
            reducers.residual,
            Code(lanes=32, depth=1024),
            InvalidInput,
            "depth 1024 of teams for no workgroup\nFix: take the code of a schedule",
        ),
        (
            reducers.residual,
            Code(lanes=32, depth=1024, group=(64, 1, 1)),
            InvalidInput,
            "depth 1024 of teams in workgroups (64, 1, 1)\n"
            "Fix: use (x, 1, 1), with x one of 128, 256, 512, 1024",
        ),
        (
            reducers.residual,
            Code(lanes=32, depth=1024, group=(128, 2, 1)),
            InvalidInput,
            "depth 1024 of teams in workgroups (128, 2, 1)\n"
            "Fix: use (x, 1, 1), with x one of 128, 256, 512, 1024",
        ),
    ],
)
def test_teams_that_there_are_none_of(kernel, code, error, text):
    with pytest.raises(error) as raised:
        refuse_teams(kernel.program, code)

    assert str(raised.value) == text


def test_an_invocation_may_stand_for_a_row_by_itself():
    program = reducers.softmax.program
    made, _ = formed(program, analyse(program), Code(across=True))

    assert not any(isinstance(node, Reduce) for node in statements(made.entry))
    assert Id(IdKind.INVOCATION, 0) not in list(all_expressions(made.entry))


def test_a_row_where_there_is_none_is_refused():
    with pytest.raises(InvalidInput) as raised:
        refuse_teams(reducers.residual.program, Code(across=True))

    assert str(raised.value) == (
        "an invocation that stands for a row of positions along x\nFix: use across=False"
    )


def test_alone_is_what_analysis_has_found():
    facts = analyse(reducers.softmax.program)

    assert formed(reducers.softmax.program, facts, Code()) == facts.alone
    bare = analyse(plain.program)
    assert formed(plain.program, bare, Code()) == (plain.program, bare)


@pytest.mark.parametrize(
    "code",
    [
        Code(lanes=32),
        Code(lanes=256),
        Code(lanes=32, keeps=4),
        Code(lanes=256, keeps=32),
        Code(lanes=32, items=3, order=Order.BLOCKED),
        Code(lanes=32, items=3, order=Order.BLOCKED, depth=1024, group=(256, 1, 1)),
    ],
    ids=["32", "256", "32-kept", "256-kept", "32-beside", "32-bringing"],
)
@pytest.mark.parametrize(
    "kernel", [reducers.softmax, reducers.residual, reducers.layer_norm_rows, reducers.nearest]
)
def test_every_load_of_a_team_is_one_that_was_proved(kernel, code):
    """So unchecked code has no checks, by whichever lane."""
    if code.keeps and why_nothing_kept(kernel.program) is not None:
        code = replace(code, keeps=0)
    if code.items > 1 and why_none_beside(kernel.program) is not None:
        code = replace(code, items=1)
    if code.depth and why_none_bring(kernel.program) is not None:
        code = replace(code, depth=0, group=None)
    facts = analyse(kernel.program)
    code = replace(code, across=covers_rows(kernel.program))
    program, proved = formed(kernel.program, facts, code)
    known = {(a.buffer, a.statement, a.index) for a in proved.accesses}
    arrays = {decl.name for decl in kernel.program.buffers}
    for node in statements(program.entry):
        for part in expressions(node):
            if isinstance(part, Load) and part.buffer in arrays:
                scalar = kernel.program.buffer(part.buffer).is_scalar_argument
                assert scalar or (part.buffer, statement_text(node), part.index) in known
    assert not any(isinstance(node, Reduce) for node in statements(program.entry))
    assert proved.alone is None


def test_forms_of_a_program_are_proved_together():
    facts = analyse(reducers.residual.program)

    assert facts.alone is not None
    assert facts.alone[1].alone is None
    assert replace(facts, alone=None) != facts
