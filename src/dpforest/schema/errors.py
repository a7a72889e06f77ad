"""The one error of this room, apart so that every module can raise it without a circle of imports."""

__all__ = ["SchemaError"]


class SchemaError(ValueError):
    """A schema is wrong, or a table does not have the shape, columns or types that the schema declares.

    The message may show names and declared values, because both are public. It never shows, nor depends on,
    a value of a row: an error that depends on one record is itself a release of that record.
    """
