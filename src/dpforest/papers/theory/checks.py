"""One way to refuse arguments outside a theorem's hypotheses; every module of the room calls it."""


def require(condition: bool, message: str) -> None:
    """Raise ``ValueError(message)`` unless the hypothesis holds.

    Parameters
    ----------
    condition : bool
        The hypothesis.
    message : str
        What is required, in the words of the caller's parameters.

    Examples
    --------
    >>> require(1 > 0, "never seen")
    >>> require(0 > 1, "epsilon must be positive")
    Traceback (most recent call last):
    ...
    ValueError: epsilon must be positive
    """
    if not condition:
        raise ValueError(message)
