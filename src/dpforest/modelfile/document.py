"""The envelope: strict JSON with a format, a version, the SHA-256 of its body and perhaps a signature.

    {"format": "dpforest model", "version": 2, "sha256": "...", "signature": null, "body": {...}}

The checksum is that of the body written without white space, keys in the order of the file (the order of the
columns matters). It finds damage, not forgery: whoever writes a file can write its checksum. The signature
(see `signing`) is over the same bytes, behind the name and version of the format, and finds forgery. Numbers
that are not whole are written in hexadecimal, ``{"hex": "0x1.8000000000000p+1"}``, so that no reader rounds
them; a bare decimal in a file is refused.

`record` calls `read_document` and `write_document`. Sizes are limited before anything is allocated.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from dpforest.modelfile.errors import ModelFileError
from dpforest.modelfile.files import write_file
from dpforest.modelfile.signing import check_form, check_signature, sign

FORMAT = "dpforest model"
VERSION = 2
MAX_BYTES = 2**30
MAX_ITEMS = 2**22  # commas, colons and brackets: JSON of nothing but "[]," takes 20 times its size in memory
_HEX_FLOAT = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}|-?inf")


def write_document(body: Mapping[str, Any], path: str | os.PathLike[str], private_key: Any = None) -> None:
    """Write a body under its envelope; the file is either complete or not there.

    Parameters
    ----------
    body : mapping
        JSON-ready, floats allowed.
    path : str or path
        Where to; an existing file is replaced.
    private_key : Ed25519PrivateKey, optional
        Whose signature the file gets.
    """
    plain = _write_floats(body)
    text = _text(plain)
    envelope = {
        "format": FORMAT,
        "version": VERSION,
        "sha256": hashlib.sha256(text).hexdigest(),
        "signature": None if private_key is None else sign(private_key, _signed(text)),
        "body": plain,
    }
    data = json.dumps(envelope, indent=1, ensure_ascii=False).encode() + b"\n"
    _check_size(data)
    write_file(path, data)


@dataclass(frozen=True)
class Document:
    """What a file holds.

    Parameters
    ----------
    body : dict
        With exact floats.
    signature : dict or None
        As it stands in the file; nobody has checked whose it is.
    message : bytes
        What the signature must be for.
    """

    body: dict[str, Any]
    signature: dict[str, str] | None
    message: bytes

    def require(self, public_key: Any) -> None:
        """Raise unless the holder of a key signed the file.

        Parameters
        ----------
        public_key : Ed25519PublicKey
            Whose signature it must be.
        """
        check_signature(self.signature, self.message, public_key)


def read_document(path: str | os.PathLike[str]) -> Document:
    """Read a file, or say why it is not one of ours.

    Parameters
    ----------
    path : str or path
        A file that anyone may have written.
    """
    with Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise ModelFileError(f"not a regular file of at most {MAX_BYTES} bytes.")
        data = file.read(MAX_BYTES + 1)  # it may have grown since
    _check_size(data)
    try:
        envelope = json.loads(
            data.decode(),
            object_pairs_hook=_no_repeats,
            parse_float=_no_decimals,
            parse_constant=_no_decimals,
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"not JSON ({error}).") from None
    if not isinstance(envelope, dict) or envelope.get("format") != FORMAT:
        raise ModelFileError(f"not a model file: it does not say {FORMAT!r} under 'format'.")
    version = envelope.get("version")
    if type(version) is not int or version != VERSION:
        raise ModelFileError(
            f"version {version!r} of the format is unknown; this dpforest reads version {VERSION}."
        )
    body = envelope.get("body")
    known = {"format", "version", "sha256", "signature", "body"}
    if set(envelope) != known or not isinstance(body, dict):
        raise ModelFileError(
            "an envelope holds format, version, sha256, signature and body, and nothing else."
        )
    text = _text(body)
    if hashlib.sha256(text).hexdigest() != envelope["sha256"]:
        raise ModelFileError("the checksum does not match: the file was damaged or edited.")
    check_form(envelope["signature"])
    exact = _read_floats(body)
    assert isinstance(exact, dict)
    return Document(exact, envelope["signature"], _signed(text))


def _check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"a model file may have at most {MAX_BYTES} bytes.")
    if sum(map(data.count, (b",", b":", b"[", b"{"))) > MAX_ITEMS:
        raise ModelFileError(f"a model file may have at most {MAX_ITEMS} entries.")


def _text(body: Any) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise ModelFileError("a text is not valid Unicode.") from None


def _signed(text: bytes) -> bytes:
    """Return what is signed: no signature of another format or version, or of another program, fits."""
    return f"{FORMAT} {VERSION}\n".encode() + text


def _write_floats(value: Any) -> Any:
    if isinstance(value, float):
        return {"hex": value.hex()}
    if isinstance(value, Mapping):
        return {key: _write_floats(item) for key, item in value.items()}
    return [_write_floats(item) for item in value] if isinstance(value, list | tuple) else value


def _read_floats(value: Any) -> Any:
    if isinstance(value, dict):
        text = value.get("hex")
        if len(value) == 1 and isinstance(text, str):
            if not _HEX_FLOAT.fullmatch(text):
                raise ModelFileError(f"{text[:40]!r} is not a hexadecimal number.")
            try:
                return float.fromhex(text)
            except OverflowError:
                raise ModelFileError(f"{text!r} does not fit a double.") from None
        return {key: _read_floats(item) for key, item in value.items()}
    return [_read_floats(item) for item in value] if isinstance(value, list) else value


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFileError("a key occurs twice.")
    return found


def _no_decimals(text: str) -> NoReturn:
    raise ModelFileError(f"the decimal {text[:40]!r} is not exact; numbers are whole or hexadecimal.")
