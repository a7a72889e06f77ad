"""Which two tables count as neighbours.

Nothing is private "in general": a guarantee compares the output on two tables that differ in one named way.
The plan carries the relation, the mechanisms take their constants from it, and the accountant refuses to add
promises made for different ones. ``ADD_OR_REMOVE_ONE`` and ``REPLACE_ONE`` are spelled as in Google's
dp_accounting.
"""

from __future__ import annotations

from enum import Enum

ONE_ROW_PER_PERSON = "1 row per person"


class NeighboringRelation(Enum):
    """What one person may change in the table without an observer noticing.

    Examples
    --------
    >>> NeighboringRelation.ADD_OR_REMOVE_ONE
    ADD_OR_REMOVE_ONE
    >>> NeighboringRelation("replace_one").phrase()
    'replacing one row'
    """

    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    """A neighbour has one row more or one row fewer; the number of rows is private."""

    REPLACE_ONE = "replace_one"
    """A neighbour has one row exchanged for any other row; the number of rows is public."""

    LABEL_CHANGE = "label_change"
    """A neighbour has one label changed to another declared one; all else is public.

    That is the features, and which rows carry a declared label at all: a label that is missing or not
    declared makes a row unlabelled for everybody to see, and no promise covers such a change.
    """

    def phrase(self, unit: str = ONE_ROW_PER_PERSON) -> str:
        """Return the words that follow "epsilon = 1 for ..." in a sentence.

        Parameters
        ----------
        unit : str
            The unit of a `PrivacyGuarantee`; anything but one row per person speaks of whole persons.
        """
        verb, noun = _WORDS[self]
        return f"{verb} one {noun}" if unit == ONE_ROW_PER_PERSON else f"{verb} the {noun}s of one person"

    def __repr__(self) -> str:
        return self.name


_WORDS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: ("adding or removing", "row"),
    NeighboringRelation.REPLACE_ONE: ("replacing", "row"),
    NeighboringRelation.LABEL_CHANGE: ("changing", "label"),
}
