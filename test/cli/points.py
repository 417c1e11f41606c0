# SPDX-License-Identifier: Apache-2.0
"""Points for k-means, and files of them."""

import array
import itertools
import random
import re
import struct


def save(path, rows, code="d"):
    """An NPY file, version 1."""
    kind = {"d": "<f8", "f": "<f4"}[code]
    shape = f"({len(rows)}, {len(rows[0])})"
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + array.array(code, itertools.chain(*rows)).tobytes()
    )
    return path


def load(path):
    """The shape and the numbers of an NPY file."""
    content = path.read_bytes()
    header = 10 + struct.unpack("<H", content[8:10])[0]
    words = content[10:header].decode()
    numbers = array.array({"<f8": "d", "<u4": "I"}[re.findall(r"'descr': '(.*?)'", words)[0]])
    numbers.frombytes(content[header:])
    return [int(n) for n in re.findall(r"\d+", words.split("shape")[1])], list(numbers)


def points(n, d, seed=1):
    numbers = random.Random(seed)
    return [[numbers.random() for _ in range(d)] for _ in range(n)]


def write_csv(path, rows, header=None):
    lines = [",".join(map(repr, row)) for row in rows]
    path.write_text("\n".join(([header] if header else []) + lines) + "\n")
    return path
