"""The one error of this room."""


class ModelFileError(ValueError):
    """A model cannot be written to a file, or a file is not a model that this version can read."""
