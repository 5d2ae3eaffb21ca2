"""Hostile files against time and memory, and the speed of a large CSV against pyarrow's own.

    python -m benchmarks.diagnose.reading [hostile [FILE...]] [speed]

A hostile file has to be refused in one line, with exit code 2, within 10 seconds of its own and
1 GB; seconds on the clock are shown beside, as others may be at work.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as parquet

SECONDS = 10.0
MEGABYTES = 1000.0
"""What a hostile file may take."""
ROWS = 10**6
COLUMNS = 100
"""Of the file whose reading is timed."""


def main() -> None:
    """Run what is named, or both."""
    wished = sys.argv[1:] or ["hostile", "speed"]
    with tempfile.TemporaryDirectory() as folder:
        if "hostile" in wished:
            hostile(Path(folder), [name for name in HOSTILE if name in wished])
        if "speed" in wished:
            speed(Path(folder))


def hostile(folder: Path, names: Sequence[str] = ()) -> int:
    """Hostile files, all unless named, each in a process of its own; how many failed."""
    chosen = names or list(HOSTILE)
    print(f"{'file':22} {'exit':>4} {'lines':>5} {'seconds':>8} {'clock':>6} {'MB':>6}")
    failed = []
    for name in chosen:
        path = HOSTILE[name](folder)
        began = time.perf_counter()
        command = [sys.executable, "-c", MEASURED, "diagnose", str(path)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            print(f"{name:22} over 120 s")
            failed.append(name)
            continue
        clock = time.perf_counter() - began
        printed = run.stderr.splitlines()
        used = [line for line in printed if line.startswith("used ")][-1].split()
        seconds = float(used[1])
        # From kibibytes.
        megabytes = int(used[2]) / 2**10
        shown = [line for line in printed if not line.startswith("used ")]
        good = run.returncode == 2 and len(shown) == 1 and not run.stdout
        good = good and seconds < SECONDS and megabytes < MEGABYTES
        print(
            f"{name:22} {run.returncode:4} {len(shown):5} {seconds:8.2f} {clock:6.2f} "
            f"{megabytes:6.0f}  {'' if good else 'FAILED '}{shown[0][:150] if shown else ''}",
            flush=True,
        )
        if not good:
            failed.append(name)
        if path.is_file() and not path.is_symlink():
            path.unlink()
    print(f"\n{len(chosen) - len(failed)} of {len(chosen)} refused as they should be")
    return len(failed)


MEASURED = """
import resource, sys
from ravine.cli import main
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print("used", used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""


def speed(folder: Path) -> None:
    """Seconds and peak memory of a CSV of 10^6 x 100, in processes of their own."""
    path = folder / "large.csv"
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write((",".join(f"x{j}" for j in range(COLUMNS)) + "\n").encode())
        for _ in range(ROWS // 10_000):
            part = pa.table([pa.array(c) for c in rng.standard_normal((COLUMNS, 10_000)).round(6)],
                            names=[str(j) for j in range(COLUMNS)])  # fmt: skip
            arrow_csv.write_csv(part, file, arrow_csv.WriteOptions(include_header=False))
    size = 8 * ROWS * COLUMNS / 2**30
    print(f"\n{path.stat().st_size / 2**30:.2f} GiB of text, {size:.2f} GiB of numbers")
    for name, code in READERS.items():
        command = [sys.executable, "-c", code + AFTERWARDS, str(path)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds, before, peak = (float(word) for word in shown.split())
        print(
            f"{name:10} {seconds:6.1f} s, {(peak - before) / 2**20 / size:5.2f} times the numbers"
        )


READERS = {
    "pyarrow": """
import resource, sys, time
import pyarrow.csv
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.perf_counter()
table = pyarrow.csv.read_csv(sys.argv[1])
""",
    "ravine": """
import resource, sys, time
import pyarrow.csv, ravine.tables
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.perf_counter()
table = ravine.tables.read_table(sys.argv[1])
assert table.X.shape == (10**6, 99), table.X.shape
""",
}
AFTERWARDS = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(time.perf_counter() - began, before, peak)
"""


def _npy_header(shape: tuple[int, ...], kind: str = "<f8") -> bytes:
    out = io.BytesIO()
    about = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, about)
    return out.getvalue()


def _npz(folder: Path, **members: bytes) -> Path:
    path = folder / "hostile.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def _npz_zeros(folder: Path) -> Path:
    """16 GB of zeros, really there."""
    path = folder / "zeros.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            member.write(_npy_header((2**20, 2048)))
            block = bytes(2**24)
            for _ in range(2**10):
                member.write(block)
        archive.writestr("y.npy", _npy_header((2**20,)) + bytes(8 * 2**20))
    return path


def _objects(folder: Path) -> Path:
    path = folder / "objects.npz"
    np.savez(path, X=np.array([[{}], [{}]]), y=np.arange(2.0))
    return path


def _text(name: str, content: str | bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def _wide(folder: Path) -> Path:
    columns = 10**6
    names = ",".join(f"c{j}" for j in range(columns))
    rows = "\n".join(",".join(["1.5"] * columns) for _ in range(3))
    return _text("wide.csv", f"{names}\n{rows}\n")(folder)


def _classes(folder: Path) -> Path:
    rows = "\n".join(f"{i % 7},{i * i % 11},class {i % 100_000}" for i in range(300_000))
    return _text("classes.csv", f"a,b,class\n{rows}\n")(folder)


def _long_line(folder: Path) -> Path:
    path = folder / "line.csv"
    with path.open("wb") as file:
        for _ in range(1024):
            file.write(b"1," * 2**19)
    return path


def _late_line(folder: Path) -> Path:
    path = folder / "late.csv"
    with path.open("wb") as file:
        file.write(b"a,b,y\n" + b"1,2,3.5\n4,5,6\n" * 10**5)
        for _ in range(1024):
            file.write(b"1," * 2**19)
    return path


def _gzip_rows(folder: Path) -> Path:
    path = folder / "rows.csv.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(3 * 2**8):
            file.write(b"1,2\n" * 2**20)
    return path


def _gzip_line(folder: Path) -> Path:
    path = folder / "line.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(2**10):
            file.write(bytes(b"1" * 2**20))
    return path


def _bzip(folder: Path) -> Path:
    path = folder / "rows.csv.bz2"
    path.write_bytes(bz2.compress(b"1,2\n" * 2**26))
    return path


def _zip_rows(folder: Path) -> Path:
    path = folder / "rows.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("rows.csv", "w", force_zip64=True) as member,
    ):
        for _ in range(5 * 2**8):
            member.write(b"1,2\n" * 2**20)
    return path


def _parquet(folder: Path) -> Path:
    path = folder / "bomb.parquet"
    part = pa.table({"a": np.zeros(10**6), "y": np.ones(10**6)})
    with parquet.ParquetWriter(path, part.schema) as writer:
        for _ in range(400):
            writer.write_table(part)
    return path


def _parquet_texts(folder: Path) -> Path:
    """One text of a megabyte in 10^5 rows, kept once in the file."""
    path = folder / "texts.parquet"
    texts = pa.DictionaryArray.from_arrays(np.zeros(10**5, dtype=np.int32), ["x" * 10**6])
    table = pa.table({"a": texts, "y": texts})
    parquet.write_table(table, path)
    return path


def _feather(folder: Path) -> Path:
    path = folder / "bomb.feather"
    table = pa.table({"a": np.zeros(10**8), "y": np.zeros(10**8)})
    feather.write_feather(table, path, compression="zstd", chunksize=10**8)
    return path


def _special(name: str, make: Callable[[Path], None]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        make(path)
        return path

    return write


HOSTILE: dict[str, Callable[[Path], Path]] = {
    "NPZ says 16 GB": lambda f: _npz(f, X=_npy_header((2**28, 8)), y=_npy_header((2**28,))),
    "NPZ of 16 GB zeros": _npz_zeros,
    "NPZ of bytes": lambda f: _npz(f, X=b"bytes", y=b"bytes"),
    "NPZ of objects": _objects,
    "NPZ that is no zip": _text("plain.npz", "no zip at all"),
    "NPY says 16 GB": _text("large.npy", _npy_header((2**28, 8))),
    "10^6 columns": _wide,
    "10^5 classes": _classes,
    "LIBSVM index 3e7": _text("a.svm", "1 1:2\n0 30000000:1\n1 5:2\n"),
    "LIBSVM index 2e9": _text("b.svm", "1 1:2\n0 2000000000:1\n1 5:2\n"),
    "LIBSVM index 1e18": _text("c.svm", "1 1:2\n0 1000000000000000000:1\n1 5:2\n"),
    "line of 1 GB": _long_line,
    "line of 1 GB below": _late_line,
    "gzip bomb of rows": _gzip_rows,
    "gzip bomb, one line": _gzip_line,
    "bzip2 bomb": _bzip,
    "zip bomb": _zip_rows,
    "Parquet bomb": _parquet,
    "Parquet bomb of texts": _parquet_texts,
    "Feather bomb": _feather,
    "folder": lambda f: f,
    "pipe": _special("pipe.csv", os.mkfifo),
    "device": lambda f: Path("/dev/zero"),
    "link to itself": _special("loop.csv", lambda p: p.symlink_to(p)),
    "zero bytes": _text("zeros.csv", b"a,b,y\n1,2,\0\n3,4,\0\n"),
    "ragged rows": _text("ragged.csv", "a,b,y\n1,2,3\n4,5,6\n7,8\n9,1,2,3\n"),
    "JSON of brackets": _text("deep.json", "[" * 10**6),
    "pickle": _text("data.pkl", b"\x80\x04\x95\x00\x00"),
    "random bytes": lambda f: _text("noise.csv", np.random.default_rng(0).bytes(10**6))(f),
}


if __name__ == "__main__":
    main()
