"""Values that stay themselves when they travel: unpickled twice in one process, they are one object.

What blocks remember of their rows (`Block.kept`) hangs on the identity of what it was made of: the key that
gave rows to trees, the steps that made scores. In one process that is the object. To a worker every question
brings new copies; a name that was drawn when it first travelled tells that a copy is the same thing, and
while anybody there still holds the first copy, that one is taken.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from typing import Any

_HERE: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_LOCK = threading.Lock()


class Lasting:
    """Something that never changes, and is itself again wherever it is unpickled.

    Examples
    --------
    >>> import pickle
    >>> thing = Lasting()
    >>> pickle.loads(pickle.dumps(thing)) is thing
    True
    """

    def __reduce__(self) -> tuple[Any, ...]:
        with _LOCK:
            name = vars(self).get("_name") or uuid.uuid4().hex
            vars(self)["_name"] = name
            _HERE[name] = self
        return _itself, (type(self), name, vars(self).copy())


def _itself(kind: type[Lasting], name: str, state: dict[str, Any]) -> Lasting:
    with _LOCK:
        found: Lasting | None = _HERE.get(name)
        if found is None:
            found = kind.__new__(kind)
            vars(found).update(state)
            _HERE[name] = found
        return found
