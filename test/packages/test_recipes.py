# SPDX-License-Identifier: Apache-2.0
"""Recipes for other package managers, as far as their own parsers can be had: EasyBuild's is; Spack
is in no registry, so a stand-in refuses what Spack does not know."""

import json
import re
import runpy
import sys
import types

import pytest
from conftest import FOLDER, SOURCE, empty
from elsewhere import good
from some import some

EASYBUILD = "packaging/easybuild/locus-0.2.0-foss-2023b.eb"
READ = """
import json, sys
from easybuild.framework.easyconfig.parser import EasyConfigParser
told = EasyConfigParser(sys.argv[1]).get_config_dict()
print(json.dumps({k: v for k, v in told.items() if k in sys.argv[2:]}))
"""
DIRECTIVES = {
    # directive of Spack: the keywords that it takes
    "license": {"checked_by", "when"},
    "version": {"sha256", "url", "deprecated", "preferred"},
    "variant": {"default", "description", "values", "multi", "when"},
    "depends_on": {"type", "when", "patches"},
    "run_after": {"when"},
    "on_package_attributes": {"run_tests"},
}


def test_easybuild_reads_its_recipe(version):
    python = FOLDER / "easybuild"
    if not (python / "ready").exists():
        good("python3", "-m", "venv", empty("easybuild"))
        good(python / "bin/pip", "install", "--quiet", "easybuild-framework", "setuptools")
        (python / "ready").touch()
    keys = ("name", "version", "easyblock", "dependencies", "configopts", "sanity_check_paths")
    out = good(python / "bin/python", "-c", READ, SOURCE / EASYBUILD, *keys)
    told = json.loads(out.splitlines()[-1])
    assert (told["name"], told["version"]) == ("locus", version)
    assert {"hwloc", "numactl", "jansson"} < {name for name, *_ in told["dependencies"]}
    # Options that configure has, and files that make install makes.
    known = good(SOURCE / "configure", "--help")
    for option in some(re.findall(r"--[\w-]+", told["configopts"])):
        assert option in known
    assert "bin/locus" in told["sanity_check_paths"]["files"]


AUTOTOOLS = "spack_repo.builtin.build_systems.autotools"


def spack(major):
    """The modules that this version of Spack has for recipes, and the calls that a recipe makes."""
    parts = AUTOTOOLS.split(".")
    names = ["spack", "spack.package", *(".".join(parts[: n + 1]) for n in range(len(parts)))]
    modules, calls = {name: types.ModuleType(name) for name in names}, []

    def directive(name):
        def call(*words, **options):
            assert set(options) <= DIRECTIVES[name], f"{name}: {set(options)}"
            calls.append((name, words, options))
            return lambda function: function

        return call

    own = {name: directive(name) for name in DIRECTIVES}
    vars(modules["spack.package"]).update(own, Executable=lambda path: None)
    package = type("AutotoolsPackage", (), {"with_or_without": with_or_without})
    vars(modules[AUTOTOOLS if major else "spack.package"])["AutotoolsPackage"] = package
    return modules, calls


def with_or_without(package, name):
    """As Spack's: --with-NAME or --without-NAME by the variant."""
    return [f"--with-{name}" if name in package.chosen else f"--without-{name}"]


@pytest.mark.parametrize("major", [0, 1])
def test_spacks_recipe_has_known_directives_and_options_of_configure(version, monkeypatch, major):
    modules, calls = spack(major)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    package = runpy.run_path(str(SOURCE / "packaging/spack/package.py"))["Locus"]()
    assert [words[0] for name, words, _ in calls if name == "version"] == [version]
    variants = {words[0] for name, words, _ in calls if name == "variant"}
    conditions = {o["when"] for name, _, o in calls if name == "depends_on" and "when" in o}
    assert conditions <= {f"+{name}" for name in variants}

    known = good(SOURCE / "configure", "--help")
    python = types.SimpleNamespace(command=types.SimpleNamespace(path="/usr/bin/python3"))
    for package.chosen in ((), ("mpi", "papi", "urcu", "report")):
        package.spec = Spec(package.chosen, python)
        for argument in some(package.configure_args()):
            name = re.sub(r"=.*", "", argument).replace("--without", "--with")
            assert name in known, argument


class Spec(dict):
    def __init__(self, chosen, python):
        super().__init__(python=python)
        self.chosen = chosen

    def satisfies(self, what):
        return what[1:] in self.chosen
