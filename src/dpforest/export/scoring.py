"""Predict with a differentially private forest. This one file needs Python 3.11 and nothing else.

    import scoring
    scoring.predict({"age": 61, "ward": "A"})        # one row, by name; or a list in the order of NAMES
    scoring.predict_proba({"age": 61, "ward": "A"})  # for classes: probabilities, in the order of CLASSES

From a shell: ``python scoring.py < rows.csv`` writes a line of CSV for every row of a CSV file with a header.
"""

import csv
import datetime as dt
import json
import math
import numbers
import sys
from bisect import bisect_right

MODEL = json.loads("{}")
NAMES = MODEL.get("names", [])
CLASSES = MODEL.get("classes", [])
_UNIT = 65536
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TRUTH = {"True": 1.0, "true": 1.0, "TRUE": 1.0, "False": 0.0, "false": 0.0, "FALSE": 0.0}


def predict(row):
    """Class that the model decides for, or the predicted number, of a row."""
    votes = _votes(row)
    answers = _finish(votes)
    if not CLASSES:
        return answers
    if MODEL["decision"]:
        answers = [share * weight for share, weight in zip(answers, MODEL["decision"], strict=True)]
    elif MODEL["ending"] == "shares":
        answers = votes  # where none is above 0, the shares are equal, and the votes still differ
    return CLASSES[answers.index(max(answers))]


def predict_proba(row):
    """Class probabilities of a row, in the order of CLASSES."""
    if not CLASSES:
        raise TypeError("This model predicts numbers: use predict.")
    return _finish(_votes(row))


def _votes(row):
    if isinstance(row, dict):
        row = [row[name] for name in _columns(row)]
    if len(row) != len(NAMES):
        raise ValueError(f"A row has {len(NAMES)} values: {', '.join(NAMES)}.")
    cells = [_cell(feature, value) for feature, value in zip(MODEL["features"], row, strict=True)]
    scores = [0] * MODEL["n_outputs"]
    for table, cell in zip(MODEL["additive"], cells, strict=False):
        scores = [score + add for score, add in zip(scores, table[cell], strict=True)]
    scores = [score / _UNIT for score in scores]
    for first, second, sign in MODEL["combinations"]:
        cells.append(_combined(cells, first, second, sign))
    pairs = MODEL["pairs"]
    for first, second, one, other in pairs["columns"]:
        place = one * pairs["scales"][first][cells[first]] + other * pairs["scales"][second][cells[second]]
        cells.append(sum(place > cut for cut in pairs["cuts"]))
    votes = [0.0] * MODEL["n_outputs"]
    for feature, threshold, leaves in MODEL["trees"]:
        leaf = leaves[_leaf(cells, feature, threshold)]
        votes = [vote + add for vote, add in zip(votes, leaf, strict=True)]
    weight = MODEL["tree_weight"]
    return [score + weight * vote for score, vote in zip(scores, votes, strict=True)]


def _columns(found):
    lacking = [name for name in NAMES if name not in found]
    if lacking:
        wanted = "The model needs " + ", ".join(NAMES) + ". Give None for a value that is not known."
        raise ValueError(f"The columns {', '.join(lacking)} are missing. {wanted}")
    return NAMES


def _leaf(cells, feature, threshold):
    node = 0
    while node < len(feature):
        cut, cell = threshold[node], cells[feature[node]]
        right = cell > cut if cut >= 0 else not MODEL["left_sets"][-cut - 1][cell]
        node = 2 * node + 1 + right
    return node - len(feature)


def _finish(votes):
    ending = MODEL["ending"]
    if ending == "softmax":
        highest = max(votes)
        votes = [math.exp(vote - highest) for vote in votes]
        if MODEL["clip"] is not None:
            votes = _unclipped(votes, MODEL["clip"])
    if ending in ("softmax", "shares"):
        votes = [max(vote, 0.0) for vote in votes]
        total = sum(votes)
        return [vote / total if total > 0 else 1 / len(votes) for vote in votes]
    levels, level = MODEL["levels"], votes[0]
    if ending == "means":
        total = votes[0] + votes[1]
        level = levels * votes[0] / total if total >= levels else MODEL["fallback"]
    level = min(max(level, 0.0), levels)
    return MODEL["low"] + (MODEL["high"] - MODEL["low"]) * level / levels


def _unclipped(weights, clip):
    """Undo what gradients that were clipped did to the probabilities."""
    shares = [weight / sum(weights) for weight in weights]
    square = 1 + sum(share**2 for share in shares)
    longer = [max(1.0, math.sqrt(max(square - 2 * share, 0.0)) / clip) for share in shares]
    return [share * factor ** (1 - 2.0**-20) for share, factor in zip(shares, longer, strict=True)]


def _combined(cells, first, second, sign):
    known = [MODEL["features"][place]["known"] for place in (first, second)]
    one, other = cells[first], cells[second]
    if one >= known[0] or other >= known[1]:
        return 256
    along, across = (2 * one + 1) * 32768 // known[0], (2 * other + 1) * 32768 // known[1]
    total = along + across if sign > 0 else along - across + 65536
    return min(total * 256 // 131072, 255)


def _cell(feature, value):
    """Cell of a value: a known one, then missing, then other."""
    kind, number, text = _read(value)
    if kind == "text" and "texts" in feature:
        word = feature["words"].get(text.strip().casefold())
        cell = feature["texts"].get(text, word) if word is None else word
        if cell is not None:
            return cell
    if kind == "text":
        kind, number = _read_text(text)
    if kind == "missing":
        return feature["known"]
    if "borders" in feature:
        return feature["known"] + 1 if kind == "other" else bisect_right(feature["borders"], number)
    for of, level, cell in feature["numbers"]:
        if of == kind and level == number:
            return cell
    return feature["known"] + 1


def _read(value):
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "missing", math.nan, ""
    if isinstance(value, bytes):
        try:
            return "text", math.nan, value.decode()
        except UnicodeDecodeError:
            return "other", math.nan, ""
    if isinstance(value, str):
        return "text", math.nan, value
    if isinstance(value, dt.date):
        return "moment", _moment(value), ""
    if isinstance(value, dt.time):
        return "clock", _clock(value), ""
    if isinstance(value, dt.timedelta):
        return "number", _seconds(value // dt.timedelta(microseconds=1)), ""
    if isinstance(value, numbers.Real) or type(value).__name__ in ("bool_", "bool", "Decimal"):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        return ("missing" if math.isnan(number) else "number"), number, ""
    return "other", math.nan, ""


def _read_text(text):
    try:
        number = float(text)
        return ("missing" if math.isnan(number) else "number"), number
    except ValueError:
        pass
    if text in _TRUTH:
        return "number", _TRUTH[text]
    if text[:2].lstrip("T").isdigit():
        try:
            return "moment", _moment(dt.datetime.fromisoformat(text))
        except (ValueError, OverflowError):
            pass
        if ":" in text:
            try:
                return "clock", _clock(dt.time.fromisoformat(text))
            except ValueError:
                pass
    return "other", math.nan


def _moment(value):
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    moment = value if value.utcoffset() is not None else value.replace(tzinfo=dt.UTC)
    return _seconds((moment - _EPOCH) // dt.timedelta(microseconds=1))


def _clock(value):
    return _seconds(((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond)


def _seconds(microseconds):
    whole, rest = divmod(microseconds, 10**6)
    return float(whole) + rest / 1e6


def main():
    """Read CSV from standard input, write predictions to standard output."""
    rows, out = csv.DictReader(sys.stdin), csv.writer(sys.stdout)
    try:
        _columns(rows.fieldnames or [])
    except ValueError as error:
        sys.exit(str(error))
    out.writerow(["prediction", *CLASSES])
    for row in rows:
        known = {name: row[name] or None for name in NAMES}
        out.writerow([predict(known), *(predict_proba(known) if CLASSES else ())])


if __name__ == "__main__":
    main()
