"""Nothing read from disk may run code, and no module reaches for the network."""

import ast

import pytest

from tests.architecture.sources import imported_modules, package_files, parse, relative

# Formats that run code when they are read.
PICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "shelve", "marshal"}
READERS = {"read_pickle", "eval", "exec"}
# Numba's own files of machine code, in a folder that only the user may write to.
ALLOWED = {"src/shtarkov/kernel_cache.py"}
NETWORK = {"socket", "urllib", "http", "requests", "ftplib", "smtplib", "aiohttp", "httpx", "ssl"}


@pytest.mark.parametrize("path", package_files(), ids=relative)
def test_no_pickle_is_read(path):
    roots = {name.split(".")[0] for name in imported_modules(parse(path))}
    assert not roots & PICKLES or relative(path) in ALLOWED, f"{relative(path)}: {roots & PICKLES}"
    for node in ast.walk(parse(path)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        assert name.split(".")[-1] not in READERS, f"{relative(path)}:{node.lineno} {name}"
        assert name != "joblib.load", f"{relative(path)}:{node.lineno} {name}"
        if name in {"np.load", "numpy.load"}:
            safe = [word for word in node.keywords if word.arg == "allow_pickle"]
            assert safe, f"{relative(path)}:{node.lineno} says nothing of allow_pickle"
            assert all(ast.unparse(word.value) == "False" for word in safe)


@pytest.mark.parametrize("path", package_files(), ids=relative)
def test_no_module_knows_the_network(path):
    roots = {name.split(".")[0] for name in imported_modules(parse(path))}
    assert not roots & NETWORK, f"{relative(path)}: {roots & NETWORK}"
