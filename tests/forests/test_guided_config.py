"""The budget of the default forest adds up, whatever was decided on the way."""

from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest

from dpforest.forests.guided_config import ClassConfig, NumberConfig


def test_class_shares_add_up_on_every_path():
    config = ClassConfig()
    for linear in (Fraction(0), *config.beside_a_tree, config.beside_many, config.linear_alone):
        shares = config.allocate(linear)
        assert sum(shares) == 1
        assert min(shares) >= 0
        assert shares.leaves > 0
        assert (shares.choosing > 0) == (linear > 0)


@pytest.mark.parametrize("config", [ClassConfig(), NumberConfig()])
def test_constants_cannot_be_changed_in_place(config):
    with pytest.raises(FrozenInstanceError):
        config.splitting = Fraction(1, 2)
