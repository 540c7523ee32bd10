"""Stochastic complexity of sparse, non-smooth estimators, and model selection with it.

Public names are looked up on first use (PEP 562), so that `import shtarkov` stays quick and
compiles nothing. `_MODULE_OF` is the table; `__all__` and the imports for type checkers repeat its
names, and a test holds the three together.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shtarkov.complexity.estimate import complexity
    from shtarkov.complexity.level_set_mass import level_set_mass
    from shtarkov.complexity.noise_scale import scale_complexity
    from shtarkov.complexity.path import complexity_path
    from shtarkov.complexity.path_result import ComplexityPath
    from shtarkov.complexity.region import NormBall
    from shtarkov.complexity.result import ComplexityResult
    from shtarkov.complexity.spectrum import StratumSpectrum, stratum_spectrum
    from shtarkov.complexity.tempered import LadderComplexity, ladder_complexity
    from shtarkov.errors import SamplingWarning, ShtarkovError
    from shtarkov.estimators.elastic_net import ElasticNetNML
    from shtarkov.estimators.group_lasso import GroupLassoNML
    from shtarkov.estimators.lasso import LassoNML
    from shtarkov.estimators.nuclear_norm import NuclearNormNML
    from shtarkov.estimators.sparse_logistic import SparseLogisticNML
    from shtarkov.estimators.sparse_svm import SparseSVMNML
    from shtarkov.families.groups import groups_by_prefix
    from shtarkov.families.label_problems import SparseLogistic, SparseSVM
    from shtarkov.families.matrix_problems import NuclearNorm
    from shtarkov.families.problems import ElasticNet, GroupLasso, Lasso
    from shtarkov.sampling.chains import Chains
    from shtarkov.sampling.label_chains import LabelChains
    from shtarkov.sampling.sample import sample
    from shtarkov.selection.compare import ComparisonReport, compare
    from shtarkov.selection.report import SelectionReport
    from shtarkov.selection.select import select
    from shtarkov.settings import AccuracySettings, SamplerSettings

__version__ = "0.1.0"

__all__ = [
    "AccuracySettings",
    "Chains",
    "ComparisonReport",
    "ComplexityPath",
    "ComplexityResult",
    "ElasticNet",
    "ElasticNetNML",
    "GroupLasso",
    "GroupLassoNML",
    "LabelChains",
    "LadderComplexity",
    "Lasso",
    "LassoNML",
    "NormBall",
    "NuclearNorm",
    "NuclearNormNML",
    "SamplerSettings",
    "SamplingWarning",
    "SelectionReport",
    "ShtarkovError",
    "SparseLogistic",
    "SparseLogisticNML",
    "SparseSVM",
    "SparseSVMNML",
    "StratumSpectrum",
    "compare",
    "complexity",
    "complexity_path",
    "groups_by_prefix",
    "ladder_complexity",
    "level_set_mass",
    "sample",
    "scale_complexity",
    "select",
    "stratum_spectrum",
]

_MODULE_OF = {
    "AccuracySettings": "shtarkov.settings",
    "Chains": "shtarkov.sampling.chains",
    "ComparisonReport": "shtarkov.selection.compare",
    "ComplexityPath": "shtarkov.complexity.path_result",
    "ComplexityResult": "shtarkov.complexity.result",
    "ElasticNet": "shtarkov.families.problems",
    "ElasticNetNML": "shtarkov.estimators.elastic_net",
    "GroupLasso": "shtarkov.families.problems",
    "GroupLassoNML": "shtarkov.estimators.group_lasso",
    "LabelChains": "shtarkov.sampling.label_chains",
    "LadderComplexity": "shtarkov.complexity.tempered",
    "Lasso": "shtarkov.families.problems",
    "LassoNML": "shtarkov.estimators.lasso",
    "NormBall": "shtarkov.complexity.region",
    "NuclearNorm": "shtarkov.families.matrix_problems",
    "NuclearNormNML": "shtarkov.estimators.nuclear_norm",
    "SamplerSettings": "shtarkov.settings",
    "SamplingWarning": "shtarkov.errors",
    "SelectionReport": "shtarkov.selection.report",
    "ShtarkovError": "shtarkov.errors",
    "SparseLogistic": "shtarkov.families.label_problems",
    "SparseLogisticNML": "shtarkov.estimators.sparse_logistic",
    "SparseSVM": "shtarkov.families.label_problems",
    "SparseSVMNML": "shtarkov.estimators.sparse_svm",
    "StratumSpectrum": "shtarkov.complexity.spectrum",
    "compare": "shtarkov.selection.compare",
    "complexity": "shtarkov.complexity.estimate",
    "complexity_path": "shtarkov.complexity.path",
    "groups_by_prefix": "shtarkov.families.groups",
    "ladder_complexity": "shtarkov.complexity.tempered",
    "level_set_mass": "shtarkov.complexity.level_set_mass",
    "sample": "shtarkov.sampling.sample",
    "scale_complexity": "shtarkov.complexity.noise_scale",
    "select": "shtarkov.selection.select",
    "stratum_spectrum": "shtarkov.complexity.spectrum",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        msg = f"module 'shtarkov' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The package as a module whose public functions cannot be hidden by a subpackage.

    `shtarkov.complexity` is a function and a subpackage: importing anything from the subpackage
    would otherwise bind the module over the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name in _MODULE_OF:
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
