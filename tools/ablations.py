"""The default forests without delta with one of their parts taken out, by other constants.

Parts are not parameters of the estimators, because nobody should have to choose them. `tools.utility`
measures what each is worth.
"""

from dataclasses import replace
from fractions import Fraction

from dpforest.forests.guided_config import NEVER, ClassConfig, NumberConfig

_WHOLE, _NUMBERS = ClassConfig(), NumberConfig()
_WITHOUT_DIRECTIONS = replace(_WHOLE, least_for_directions=NEVER)

CLASSES = {
    "without the linear part": replace(
        _WITHOUT_DIRECTIONS, enough_for_both=NEVER, many_classes=NEVER
    ),
    "without directions": _WITHOUT_DIRECTIONS,
    "without the tree": replace(  # all for the fitted part
        _WITHOUT_DIRECTIONS, enough_for_both=0, least_per_sum=0, enough_beside_many=0,
        least_per_sum_alone=NEVER,
        beside_a_tree=(_WHOLE.linear_alone,) * 3,
        few_weights=((0.0, 1.0),), many_weights=((0.0, 1.0),),
    ),
    "without squares and curves": replace(
        _WHOLE, linear=replace(_WHOLE.linear, enough_for_squares=(NEVER, NEVER), enough_for_curves=NEVER)
    ),
    "without sums of two features": replace(_WHOLE, combinations=0),
    "without pairs of levels": replace(_WHOLE, in_pairs=False),
    "without classes of leaves": replace(_WHOLE, name_leaves=False),
    "without centred scores": replace(_WHOLE, enough_for_centres=NEVER),
    "without counting several classes": replace(_WHOLE, divide_classes=False),
    "without a choice of weights": replace(_WHOLE, few_weights=((1.0, 0.5),), enough_to_choose=NEVER),
    "without likely weights": replace(_WHOLE, sure_of_weights=0.0),
    "without growing level shares": replace(_WHOLE, level_ratio=Fraction(1)),
    "without a mixture of prunings": replace(_WHOLE, mix_prunings=False),
    "with one tree": replace(_WHOLE, epsilon_per_tree=NEVER),
}  # fmt: skip
NUMBERS = {
    "without the additive part": replace(_NUMBERS, additive=replace(_NUMBERS.additive, least_per_line=NEVER)),
    "without trees": replace(
        _NUMBERS, enough_to_split=NEVER, most_additive=Fraction(95, 100), additive_power=0.0, quiet=0.0
    ),
    "without curves": replace(
        _NUMBERS, additive=replace(_NUMBERS.additive, loudest_squares=0.0, loudest_curves=0.0)
    ),
    "without clip bounds": replace(_NUMBERS, enough_to_clip=NEVER, stretch=NEVER),
    "with one tree": replace(_NUMBERS, enough_to_boost=NEVER, enough_to_boost_rest=NEVER),
}
