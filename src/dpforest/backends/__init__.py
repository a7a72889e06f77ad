"""Count tables of private rows. No noise, no budget, no mechanism: only "how many rows fall where?".

Only `dpforest.curator` may import this room.
"""

from dpforest.backends.memory import COARSE_LEVELS, MemoryBackend

__all__ = ["COARSE_LEVELS", "MemoryBackend"]
