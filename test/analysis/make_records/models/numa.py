# SPDX-License-Identifier: Apache-2.0
"""How long numa takes on a made-up machine."""

from __future__ import annotations

from typing import Any

from ..machines import PAGE, Machine
from ..trials import Point


def numa(
    machine: Machine, kernels: tuple[str, ...] = ("sum", "triad"), size: int = 1 << 30
) -> list[Point]:
    """Placements, kernels and layouts; the matrix. In the model of bandwidth the slowest part of
    the work decides."""
    pages = size // PAGE
    n, m = machine.cpu_nodes, machine.cores
    layouts = {"+".join(str(m if i == 0 else 0) for i in range(n)): [1.0] + [0.0] * (n - 1)}
    if n > 1:
        layouts["+".join([str(m // n)] * n)] = [1 / n] * n
    points = []
    for kernel in kernels:
        for huge in ("base", "thp"):
            for layout, users in layouts.items():
                for variant in ("single", "random", "static", "interleave", "bind", "migrate"):
                    on, local = _model(variant, users, n)
                    speed = (
                        min(
                            machine.local * len([u for u in users if u]),
                            min(machine.local / share for share in on if share)
                            * (machine.remote + (1 - machine.remote) * local),
                        )
                        * (0.9 if kernel == "triad" else 1)
                        * (1.06 if huge == "thp" else 1)
                    )
                    parameters: dict[str, Any] = {
                        "kernel": kernel,
                        "size": size,
                        "pages": huge,
                        "layout": layout,
                    }
                    if variant == "bind":
                        parameters["node"] = 0
                    points.append(
                        Point(
                            "numa",
                            variant,
                            parameters,
                            threads=sum(map(int, layout.split("+"))),
                            seconds=size / speed,
                            amount=("bandwidth", "B/s", size),
                            on_node={str(i): round(share * pages) for i, share in enumerate(on)},
                            local=local,
                        )
                    )
    for cpu_node in range(machine.cpu_nodes):
        for memory_node in range(machine.nodes):
            source = "+".join(str(m if i == cpu_node else 0) for i in range(n))
            points.append(
                Point(
                    "numa",
                    "matrix",
                    {
                        "kernel": "sum",
                        "size": size,
                        "pages": "base",
                        "from": source,
                        "to": memory_node,
                    },
                    threads=m,
                    seconds=size / machine.rate(cpu_node, memory_node),
                    amount=("bandwidth", "B/s", size),
                    on_node={str(memory_node): pages},
                    local=float(cpu_node == memory_node),
                )
            )
    return points


def _model(variant: str, users: list[float], nodes: int) -> tuple[list[float], float]:
    """Share of the pages on each node, and the share that is local to its user."""
    if variant in ("single", "bind"):
        return [1.0] + [0.0] * (nodes - 1), users[0]
    if variant == "interleave":
        return [1 / nodes] * nodes, 1 / nodes
    if variant == "random":
        return users, sum(u * u for u in users)
    return users, 1.0
