"""Signatures of model files: Ed25519, by the ``cryptography`` package.

A checksum finds damage; a signature finds forgery. It is made over the whole body of a file, so over the
trees, the guarantee, the ledger and the receipt of the charge together, and says: the holder of this key
published exactly this. Keys are ordinary PEM files that other programs read too; a private key is written for
its owner's eyes only and belongs where SSH keys are kept.

Called by `document`; the command line makes the keys.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

from dpforest.modelfile.errors import ModelFileError
from dpforest.modelfile.files import write_file

_ALGORITHM = "ed25519"
_MOST_BYTES = 10_000  # of a key file


def create_key(path: str | os.PathLike[str]) -> str:
    """Make a pair of keys: the private one in `path`, the public one beside it with the suffix ``.pub``.

    Parameters
    ----------
    path : str or path
        A new file; its name must not end in ``.pub``.

    Returns
    -------
    str
        The fingerprint of the public key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    private, public = Path(path), public_path(path)
    if private == public or os.path.lexists(private) or os.path.lexists(public):
        raise ValueError(f"{private} or {public} exists already, and a key is never replaced.")
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    shown = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    write_file(private, pem, mode=0o600, replace=False)
    write_file(public, shown, replace=False)
    return fingerprint(key.public_key())


def public_path(path: str | os.PathLike[str]) -> Path:
    """Return where the public key of a private one lies."""
    return Path(path).with_suffix(".pub")


def read_private_key(path: str | os.PathLike[str]) -> Any:
    """Read a private key; refuses one that others may read.

    Parameters
    ----------
    path : str or path
        As `create_key` wrote it.
    """
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if os.name == "posix" and stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
        raise ModelFileError(f"the key {path} can be read or written by others: chmod 600 it first.")
    return _read_key(path, lambda data: load_pem_private_key(data, password=None), "private", "sign")


def read_public_key(path: str | os.PathLike[str]) -> Any:
    """Read a public key.

    Parameters
    ----------
    path : str or path
        A PEM file.
    """
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    return _read_key(path, load_pem_public_key, "public", "verify")


def _read_key(path: str | os.PathLike[str], load: Any, kind: str, ability: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm

    with Path(path).open("rb") as file:
        data = file.read(_MOST_BYTES)
    try:
        key = load(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not type(key).__name__.startswith("Ed25519") or not hasattr(key, ability):
        raise ModelFileError(f"{path} is not a {kind} Ed25519 key.")
    return key


def fingerprint(public_key: Any) -> str:
    """Return a short name of a public key: the first half of the SHA-256 of its bytes.

    Parameters
    ----------
    public_key : Ed25519PublicKey
        The key.
    """
    return hashlib.sha256(public_key.public_bytes_raw()).hexdigest()[:32]


def sign(private_key: Any, message: bytes) -> dict[str, str]:
    """Sign the bytes of a document.

    Parameters
    ----------
    private_key : Ed25519PrivateKey
        Of the owner.
    message : bytes
        What is signed.
    """
    return {
        "algorithm": _ALGORITHM,
        "key": fingerprint(private_key.public_key()),
        "value": private_key.sign(message).hex(),
    }


def check_signature(signature: Any, message: bytes, public_key: Any) -> None:
    """Raise unless the holder of a key signed these bytes.

    Parameters
    ----------
    signature : mapping or None
        From a file that anyone may have written.
    message : bytes
        What must have been signed.
    public_key : Ed25519PublicKey
        Whose signature it must be.
    """
    from cryptography.exceptions import InvalidSignature

    if signature is None:
        raise ModelFileError("the file is not signed.")
    if signature["key"] != fingerprint(public_key):
        raise ModelFileError(
            f"the file is signed by another key ({signature['key']}) than the one given "
            f"({fingerprint(public_key)})."
        )
    try:
        public_key.verify(bytes.fromhex(signature["value"]), message)
    except InvalidSignature:
        raise ModelFileError("the signature is forged: the holder of the key did not sign this.") from None


def check_form(signature: Any) -> None:
    """Refuse what does not even look like a signature.

    Parameters
    ----------
    signature : mapping or None
        From a file that anyone may have written.
    """
    if signature is None:
        return
    digits = set("0123456789abcdef")
    if (
        not isinstance(signature, dict)
        or set(signature) != {"algorithm", "key", "value"}
        or not all(isinstance(text, str) for text in signature.values())
        or signature["algorithm"] != _ALGORITHM
        or len(signature["key"]) != 32
        or len(signature["value"]) != 128
        or not set(signature["key"] + signature["value"]) <= digits
    ):
        raise ModelFileError("the signature must hold algorithm, key and value, and nothing else.")
