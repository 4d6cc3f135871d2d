"""One glider across a 2-D board: two axes, neighbours beyond the edge, values in a few bits."""

import numpy as np

import vyre
from vyre import In, Out, u8


@vyre.kernel
def step(board: In[u8, 2], out: Out[u8, 2]):
    i, j = vyre.gid(0), vyre.gid(1)
    alive = 0
    for di in range(3):
        for dj in range(3):
            if di != 1 or dj != 1:
                alive += board[i + di - 1, j + dj - 1]
    if alive == 3 or (alive == 2 and board[i, j] == 1):
        out[i, j] = 1


board = np.zeros((12, 16), np.uint8)
for row, column in ((0, 1), (1, 2), (2, 0), (2, 1), (2, 2)):
    board[row, column] = 1
first = board.copy()
for _ in range(16):
    board = step(board)

for line in board:
    print("".join(".#"[cell] for cell in line))
assert np.array_equal(board, np.roll(first, (4, 4), axis=(0, 1)))
