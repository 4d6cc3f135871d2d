"""Learns how to run one workload from the dispatches that happen anyway: deciding alone, no effect.

`advance` takes what is known and what has happened, and gives what is known then and what is to be
done about it. One launch is waited for at a time: the next depends on what came of it. A few more
may be asked for with it, each for what those before it leave open.
"""
