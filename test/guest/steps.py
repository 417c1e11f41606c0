# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: @pytest.mark.guest(GUESTS, COMMANDS) makes a test of each command in each
guest; `done` is the command's result.

Guests: one name, or a list. Commands: one, a list, or {name of the test: command}. A command is a
shell script; it writes its record to record.jsonl, and may leave other files. All commands of the
selected tests in a guest run in one boot, each once.
"""

import concurrent.futures
import dataclasses
import re

import guests
import pytest
import retries
from lacking import lacking


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "guest(guests, commands): run in guests, and given what came of it as `done`"
    )


def named(one_or_more):
    """{name: it}"""
    if isinstance(one_or_more, str):
        return {"": one_or_more}
    return one_or_more if isinstance(one_or_more, dict) else {one: one for one in one_or_more}


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("guest")
    if marker:
        names, commands = map(named, marker.args)
        lanes = {guests.GUESTS[name].architecture.lane for name in names.values()}
        assert lanes == {metafunc.definition.path.parent.name}, "a guest of another lane"
        runs = {
            f"{name} {called}".strip(): (name, command)
            for name in names.values()
            for called, command in commands.items()
        }
        metafunc.parametrize("done", runs.values(), indirect=True, ids=runs)


@pytest.fixture(scope="session")
def need():
    """need(guest): skips or fails the test, with the reason, if there can be no such guest."""

    def skip_if_impossible(name):
        if guests.foreign(name):
            pytest.skip(guests.foreign(name))
        if guests.missing(name):
            lacking(*guests.missing(name))

    return skip_if_impossible


@pytest.fixture(scope="session")
def boot(need):
    """guests.boot() for a test, which is skipped or fails if there can be no such guest."""

    def boot_if_possible(name, *arguments, **more):
        need(name)
        return guests.boot(name, *arguments, **more)

    return boot_if_possible


def count_retries(name, came_of_it):
    """Counts a second boot after a guest died, and retries that steps report."""
    done = [it for it in came_of_it.values() if isinstance(it, guests.Done)]
    retries.count(f"the guest '{name}' died", any(it.before for it in done))
    for why in re.findall(r"^retried: (.*)", "\n".join(it.out for it in done), re.M):
        retries.count(why)


@pytest.fixture(scope="session")
def booted(request, boot):
    """booted(guest): {command: Done, or Died}. The first call starts all guests, two at a time,
    since a guest mostly uses one CPU; the one with most steps first. Rarely an emulated kernel
    hangs or ends; a guest that does so twice fails.
    """
    steps: dict = {}  # by guest, in the order of the tests
    for item in request.session.items:
        if "done" in getattr(item, "fixturenames", ()):
            name, command = item.callspec.params["done"]
            steps.setdefault(name, {})[command] = None
    running: dict = {}

    def boot_twice(name, own):
        came_of_it = boot(name, own, boots=2)
        count_retries(name, came_of_it)
        return came_of_it

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:

        def result(name):
            if not running:
                longest_first = sorted(steps.items(), key=lambda its: -len(its[1]))
                for guest, own in longest_first:
                    running[guest] = pool.submit(boot_twice, guest, list(own))
            return running[name].result()

        yield result
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def done(request, booted, read):
    name, command = request.param
    came_of_it = booted(name)[command]
    if isinstance(came_of_it, guests.Died):
        pytest.fail(str(came_of_it), pytrace=False)
    if came_of_it.before:
        print(f"In a second boot: {came_of_it.before}")
    record = came_of_it.folder / "record.jsonl"
    return dataclasses.replace(came_of_it, record=read(record)) if record.exists() else came_of_it
