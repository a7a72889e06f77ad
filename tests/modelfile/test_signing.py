"""Whose word is a model's promise: signatures, receipts, and forgers who redo every checksum."""

import copy
import hashlib
import json
import os
import random
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

import dpforest
from dpforest.modelfile import ModelFileError
from dpforest.modelfile.files import write_file
from dpforest.modelfile.signing import create_key
from dpforest.privacy import BudgetAccountant

X = np.random.default_rng(0).random((200, 2))
Y = (X[:, 0] > 0.5).astype(int)


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A folder with owner.key, owner.pub, other.pub, budget.db and a signed model.json."""
    folder = tmp_path_factory.mktemp("signed")
    create_key(folder / "owner.key")
    create_key(folder / "other.key")
    accountant = BudgetAccountant.create(folder / "budget.db", dataset="patients", epsilon=3.0)
    model = dpforest.DiPriMeForestClassifier(
        2, max_depth=2, bounds=(0, 1), classes=[0, 1], accountant=accountant
    )
    model.fit(X, Y).save(folder / "model.json", key=folder / "owner.key")
    return folder


def redo_checksum(envelope):
    body = json.dumps(envelope["body"], ensure_ascii=False, separators=(",", ":"))
    envelope["sha256"] = hashlib.sha256(body.encode()).hexdigest()


def places(value, path=()):
    """Every number, text and truth value in a document, by the way that leads to it."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from places(item, (*path, key))
    else:
        yield path


def forge(envelope, rng, ways):
    """Lower epsilon, make void proven, or change anything else by a little; then redo the checksum."""
    forged = copy.deepcopy(envelope)
    body, kind = forged["body"], rng.randrange(4)
    if kind == 0:
        lower = rng.uniform(0.001, 0.999).hex()
        body["guarantee"]["epsilon"] = body["parameters"]["epsilon"] = {"hex": lower}
    elif kind == 1:
        body["receipt"] = rng.choice([None, {**body["receipt"], "number": rng.randrange(2, 100)}])
    elif kind == 2:
        body["guarantee"].update(status="proven", reason=f"{rng.random()}")
    else:
        *way, last = rng.choice(ways)
        place = body
        for step in way:
            place = place[step]
        old = place[last]
        place[last] = (
            old + 1 if isinstance(old, int) and not isinstance(old, bool) else f"{old}{rng.random()}"
        )
    redo_checksum(forged)
    return forged


def test_a_signed_model_says_whose_it_is_and_where_it_was_charged(signed):
    model = dpforest.load(signed / "model.json", key=signed / "owner.pub")
    assert len(model.signed_by_) == 32
    [charge] = BudgetAccountant.open(signed / "budget.db", dataset="patients").history()
    assert (model.receipt_.count, model.receipt_.head) == (charge.number, charge.hash)
    assert model.receipt_.dataset == "patients"
    unasked = dpforest.load(signed / "model.json")
    assert unasked.signed_by_ is None  # a signature that nobody checked is worth nothing
    with pytest.raises(ModelFileError, match="another key"):
        dpforest.load(signed / "model.json", key=signed / "other.pub")


def test_every_one_of_a_thousand_forgeries_is_found(signed, tmp_path):
    from dpforest.modelfile.document import read_document
    from dpforest.modelfile.signing import read_public_key

    envelope, rng, key = json.loads((signed / "model.json").read_text()), random.Random(0), None
    key, path, ways = (
        read_public_key(signed / "owner.pub"),
        tmp_path / "forged.json",
        list(places(envelope["body"])),
    )
    for _ in range(1000):
        path.write_text(json.dumps(forge(envelope, rng, ways)))
        with pytest.raises(ModelFileError, match=r"forged|hexadecimal"):
            read_document(path).require(key)
    path.write_text(json.dumps(envelope))
    read_document(path).require(key)


def test_a_signature_of_somebody_else_or_of_another_model_does_not_fit(signed, tmp_path):
    envelope, path = json.loads((signed / "model.json").read_text()), tmp_path / "model.json"
    model = dpforest.load(signed / "model.json")
    model.save(path, key=signed / "other.key")
    forged = json.loads(path.read_text())
    forged["signature"]["key"] = envelope["signature"]["key"]
    path.write_text(json.dumps(forged))
    with pytest.raises(ModelFileError, match="forged"):
        dpforest.load(path, key=signed / "owner.pub")
    for wrong in ({}, "", {**envelope["signature"], "value": "00"}, {**envelope["signature"], "more": ""}):
        path.write_text(json.dumps({**envelope, "signature": wrong}))
        with pytest.raises(ModelFileError, match="signature"):
            dpforest.load(path)


def test_an_unsigned_file_loads_unless_a_key_is_demanded(signed, tmp_path):
    path = tmp_path / "model.json"
    dpforest.load(signed / "model.json").save(path)
    dpforest.load(path)
    with pytest.raises(ModelFileError, match="not signed"):
        dpforest.load(path, key=signed / "owner.pub")


def test_keys_are_for_their_owner_alone_and_never_replaced(signed, tmp_path):
    assert stat.S_IMODE((signed / "owner.key").stat().st_mode) == 0o600
    with pytest.raises(ValueError, match="never replaced"):
        create_key(signed / "owner.key")
    open_to_all = tmp_path / "open.key"
    open_to_all.write_bytes((signed / "owner.key").read_bytes())
    open_to_all.chmod(0o644)
    model = dpforest.load(signed / "model.json")
    for key, complaint in ((open_to_all, "chmod 600"), (signed / "owner.pub", "chmod 600|private")):
        with pytest.raises(ModelFileError, match=complaint):
            model.save(tmp_path / "model.json", key=key)
    with pytest.raises(ModelFileError, match="not a public Ed25519 key"):
        dpforest.load(signed / "model.json", key=signed / "owner.key")


# --- files -------------------------------------------------------------------------------------------------


def test_a_killed_writer_leaves_nothing_behind(tmp_path):
    code = """
import os, signal, sys
from dpforest.modelfile.files import write_file
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)  # all is written, nothing has a name
write_file(sys.argv[1], b"x" * 1000)
"""
    (tmp_path / "there").write_text("before")
    for name in ("there", "new"):
        done = subprocess.run([sys.executable, "-c", code, tmp_path / name], check=False)
        assert done.returncode == -signal.SIGKILL
    assert [file.name for file in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text() == "before"


def test_links_are_replaced_and_not_followed(tmp_path):
    for target in ("elsewhere", "nowhere"):
        link = tmp_path / f"to {target}"
        link.symlink_to(tmp_path / target)
        if target == "elsewhere":
            (tmp_path / target).write_text("mine")
        write_file(link, b"new")
        assert not link.is_symlink()
        assert link.read_bytes() == b"new"
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "elsewhere", b"", replace=False)
    assert len(os.listdir(tmp_path)) == 3
