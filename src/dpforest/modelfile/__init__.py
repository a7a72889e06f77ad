"""The file of a released model: versioned JSON that can be read without trust.

A file holds released values and public facts only, and reading one runs no code: no pickle, no import of a
name that the file gives. Everything that compiled kernels will use as an index is checked here first.

`document` is the envelope (format, version, checksum, signature, exact numbers), `signing` makes and checks
signatures, `files` writes in one step, `arrays` writes arrays as text,
`record` says what a model consists of and checks it. Estimators turn themselves into a `ModelRecord` and
back (`dpforest.forests.saved`); this room does not know them.
"""

from dpforest.modelfile.errors import ModelFileError
from dpforest.modelfile.record import ModelRecord, read_record, write_record
from dpforest.modelfile.signing import create_key

__all__ = ["ModelFileError", "ModelRecord", "create_key", "read_record", "write_record"]
