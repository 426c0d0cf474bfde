"""Examples in docstrings run and print what they say, and every public class and function has one."""

import doctest
import inspect

import numpy as np
import pytest

import quirk
from quirk import planar, shapes, surface

MODULES = (("", quirk), ("planar.", planar), ("shapes.", shapes), ("surface.", surface))
PUBLIC = {
    f"{prefix}{name}": thing
    for prefix, module in MODULES
    for name, thing in ((name, getattr(module, name)) for name in getattr(module, "__all__", dir(module)))
    if inspect.isclass(thing) or inspect.isfunction(thing)
    if not name.startswith("_") and (module is not surface or thing.__module__ == surface.__name__)
}
# Of what is warned of or fails outside of QuIRK.
WITHOUT = {"WriteError", *(name for name, x in PUBLIC.items() if inspect.isclass(x) and issubclass(x, Warning))}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(recurse=True).find(PUBLIC[name], name, globs={"np": np, "quirk": quirk})
    assert name in WITHOUT or any(test.name == name and test.examples for test in found)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.FAIL_FAST)
    for test in found:
        report = []
        runner.run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)
