"""Count tables of private rows. No noise, no budget, no mechanism: only "how many rows fall where?".

Only `dpforest.curator` may import this room.
"""

from dpforest.backends.limits import COARSE_LEVELS, ERROR_LEVELS, MAX_PER_ROW, MAX_ROWS
from dpforest.backends.memory import MemoryBackend

__all__ = ["COARSE_LEVELS", "ERROR_LEVELS", "MAX_PER_ROW", "MAX_ROWS", "MemoryBackend"]
