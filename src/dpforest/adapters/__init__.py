"""Forests in the terms of other libraries."""

from dpforest.adapters.opendp import opendp_domain, opendp_measurement

__all__ = ["opendp_domain", "opendp_measurement"]
