"""Chains as an xarray DataTree, the interchange form of ArviZ, and as a netCDF file.

xarray and h5netcdf come with the extra ``shtarkov[arviz]`` and are imported here only.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

import shtarkov
from shtarkov.errors import InvalidProblem, ShtarkovError
from shtarkov.sampling.chains import QUANTITIES, STATISTICS, Chains

FORMAT = 2
_SCALARS = tuple(
    field.name
    for field in fields(Chains)
    if field.name not in {*QUANTITIES, *STATISTICS, "failures", "ladder", "extras"}
)
# Written for who reads the file without this library; made from the others when read back.
_DERIVED = "codelength_part"
_POSTERIOR_EXTRAS = {"active": "feature", "data": "dimension", "mse": None}


def xarray_module() -> Any:
    """Import xarray, or say how to get it."""
    try:
        import xarray as xr
    except ImportError as error:
        msg = "xarray is not installed; pip install 'shtarkov[arviz]'"
        raise ShtarkovError(msg) from error
    return xr


def _dims(name: str, array: Any) -> tuple[str, ...]:
    """Name the dimensions: (chain, draw), then one that belongs to the array."""
    more = [f"{name}_dim_{i}" for i in range(array.ndim - 2)]
    if more and _POSTERIOR_EXTRAS.get(name):
        more[0] = str(_POSTERIOR_EXTRAS[name])
    return ("chain", "draw", *more)


def to_datatree(chains: Chains) -> Any:
    """Put the draws into groups posterior and sample_stats, the settings into constants."""
    xr = xarray_module()
    posterior = {name: getattr(chains, name) for name in (*QUANTITIES, _DERIVED)}
    statistics = {name: getattr(chains, name) for name in STATISTICS}
    for name, array in chains.extras.items():
        group = posterior if name in _POSTERIOR_EXTRAS else statistics
        group[name] = array.astype(np.int8) if array.dtype == bool else array

    def dataset(arrays: dict[str, Any]) -> Any:
        return xr.Dataset({name: (_dims(name, array), array) for name, array in arrays.items()})

    constants = xr.Dataset({name: _plain(getattr(chains, name)) for name in _SCALARS})
    names = sorted(chains.failures)
    counts = np.array([chains.failures[name] for name in names], dtype=np.int64)
    constants["failures"] = ("status", counts)
    constants["status_names"] = " ".join(names)
    constants["ladder"] = (("rung", "lam_tau"), chains.ladder)
    tree = xr.DataTree.from_dict(
        {
            "/posterior": dataset(posterior),
            "/sample_stats": dataset(statistics),
            "/constants": constants,
        }
    )
    tree.attrs.update(
        format=FORMAT, inference_library="shtarkov", inference_library_version=shtarkov.__version__
    )
    return tree


def _plain(value: Any) -> Any:
    """Make a scalar that netCDF can hold; a seed may need more than 63 bits."""
    if isinstance(value, bool):
        return int(value)
    return str(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def from_datatree(tree: Any) -> Chains:
    """Undo `to_datatree`."""
    if tree.attrs.get("inference_library") != "shtarkov" or tree.attrs.get("format") != FORMAT:
        found = tree.attrs.get("inference_library_version", "something else")
        msg = f"this file was not written by a compatible version (found {found}); sample again"
        raise InvalidProblem(msg)
    arrays = {**_arrays(tree["posterior"]), **_arrays(tree["sample_stats"])}
    constants = {name: tree["constants"][name].values for name in tree["constants"].data_vars}
    arrays.pop(_DERIVED, None)
    names = str(constants.pop("status_names")).split()
    ladder = constants.pop("ladder")
    counts = [int(count) for count in np.atleast_1d(constants.pop("failures"))]
    scalars = {name: value.item() for name, value in constants.items()}
    scalars["seed"] = int(scalars["seed"])
    scalars["interrupted"] = bool(scalars["interrupted"])
    known = {name: arrays.pop(name) for name in (*QUANTITIES, *STATISTICS)}
    if "active" in arrays:
        arrays["active"] = arrays["active"].astype(bool)
    failures = dict(zip(names, counts, strict=True))
    return Chains(**scalars, **known, failures=failures, ladder=ladder, extras=arrays)


def _arrays(group: Any) -> dict[str, Any]:
    return {str(name): np.asarray(group[name].values) for name in group.data_vars}


def save(chains: Chains, path: Path) -> None:
    """Write netCDF under another name, then rename."""
    partial = path.with_name(path.name + ".partial")
    try:
        to_datatree(chains).to_netcdf(partial, engine="h5netcdf")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def load(path: Path) -> Chains:
    """Read netCDF into memory."""
    xr = xarray_module()
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        return from_datatree(tree.load())
