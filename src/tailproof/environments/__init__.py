"""Environments: laws of payoffs, random functions, the lower bound's instance, data sets.

An environment has means and draws payoffs; it does not depend on the policies.
"""

from tailproof._util.tables import DataFileError
from tailproof.environments._laws import PayoffLaw
from tailproof.environments.arms import ArmEnvironment, SyntheticArms
from tailproof.environments.data import (
    DataArms,
    load_claims,
    load_latency,
    load_light,
    load_stand_in_stocks,
    load_stocks,
)
from tailproof.environments.functions import RKHSFunction, ShiftedFunction, sample_rkhs_function
from tailproof.environments.hard_instance import HardInstance
from tailproof.environments.noise import (
    AlphaStable,
    CenteredLogNormal,
    CenteredPareto,
    Contamination,
    Gaussian,
    Spike,
    StudentT,
    SymmetricPareto,
)
from tailproof.environments.payoffs import MultiplicativeLogNormal, ParetoPayoff, TwoPoint

__all__ = [
    "AlphaStable",
    "ArmEnvironment",
    "CenteredLogNormal",
    "CenteredPareto",
    "Contamination",
    "DataArms",
    "DataFileError",
    "Gaussian",
    "HardInstance",
    "MultiplicativeLogNormal",
    "ParetoPayoff",
    "PayoffLaw",
    "RKHSFunction",
    "ShiftedFunction",
    "Spike",
    "StudentT",
    "SymmetricPareto",
    "SyntheticArms",
    "TwoPoint",
    "load_claims",
    "load_latency",
    "load_light",
    "load_stand_in_stocks",
    "load_stocks",
    "sample_rkhs_function",
]
