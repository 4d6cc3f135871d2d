"""Find many words in a text at once: a two-byte test decides where the exact comparison runs."""

import numpy as np

from vyre.kernels.literals import scan
from vyre.kernels.search import Literals, find

log = b"".join(
    b"12:%02d:%02d %s request %d took %d ms\n"
    % (n // 60 % 60, n % 60, (b"INFO", b"WARNING", b"ERROR")[n % 97 % 3], n, n * 37 % 900)
    for n in range(20_000)
)
words = [b"ERROR", b"WARN", b"WARNING", b"took 899 ms"]

matches = find(log, words)
for number, word in enumerate(words):
    print(f"{word.decode():<12} {np.count_nonzero(matches.ids == number):>6} times")
assert np.count_nonzero(matches.ids == 0) == log.count(b"ERROR")
assert np.count_nonzero(matches.ids == 1) == np.count_nonzero(matches.ids == 2)

literals = Literals.of(words)
for _ in range(30):  # it measures the ways to run on the calls that happen anyway
    find(log, literals)
print(scan.explain())
