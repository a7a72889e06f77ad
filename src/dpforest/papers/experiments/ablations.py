"""The default forest with one of its parts taken out, as methods of their own.

A part is taken out by other constants (`dpforest.forests.guided_config`). Parts are not parameters of the
estimator, because nobody should have to choose them. Importing `systems` registers these methods;
`tables/default_forest.py` names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpforest.forests.guided_config import NEVER, ClassConfig, NumberConfig
from dpforest.papers.experiments.methods import Factory, MethodNotAvailableError, register
from dpforest.schema import Schema

_WHOLE, _NUMBERS = ClassConfig(), NumberConfig()

CLASSIFICATION = {
    "without the linear part": replace(_WHOLE, enough_for_both=NEVER, many_classes=NEVER),
    "without the tree": replace(_WHOLE, enough_for_both=NEVER, many_classes=0, least_per_sum_alone=0),
    "without squares and curves": replace(
        _WHOLE, linear=replace(_WHOLE.linear, enough_for_squares=(NEVER, NEVER), enough_for_curves=NEVER)
    ),
    "without sums of two features": replace(_WHOLE, combinations=0),
    "without centred scores": replace(_WHOLE, enough_for_centres=NEVER),
    "without counting several classes": replace(_WHOLE, divide_classes=False),
    "without a choice of weights": replace(_WHOLE, few_weights=((1.0, 0.5),), enough_to_choose=NEVER),
    "without growing level shares": replace(_WHOLE, level_ratio=Fraction(1)),
    "without a mixture of prunings": replace(_WHOLE, mix_prunings=False),
}
REGRESSION = {
    "without the additive part": replace(_NUMBERS, additive=replace(_NUMBERS.additive, least_per_line=NEVER)),
    "without curves": replace(
        _NUMBERS, additive=replace(_NUMBERS.additive, loudest_squares=0.0, loudest_curves=0.0)
    ),
    "without clip bounds": replace(_NUMBERS, enough_to_clip=NEVER, stretch=NEVER),
    "with one tree": replace(_NUMBERS, enough_to_boost=NEVER, enough_to_boost_rest=NEVER),
}


def register_all() -> None:
    """Register one method for each part."""
    for name in (*CLASSIFICATION, *REGRESSION):
        register(f"dpforest {name}", _factory(name), about=f"the default forest {name}")


def _factory(name: str) -> Factory:
    def make(*, task: str, schema: Schema, epsilon: float, seed: int, parameters: Mapping[str, Any]) -> Any:
        from dpforest.forests import PrivateForestClassifier, PrivateForestRegressor

        model: Any
        if task == "classification" and name in CLASSIFICATION:
            model = PrivateForestClassifier(epsilon=epsilon, schema=schema, random_state=seed)
            model._config = CLASSIFICATION[name]
        elif task == "regression" and name in REGRESSION:
            model = PrivateForestRegressor(epsilon=epsilon, schema=schema, random_state=seed)
            model._config = REGRESSION[name]
        else:
            raise MethodNotAvailableError(f"there is no form for {task}.")
        return model

    return make
