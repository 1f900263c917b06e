from __future__ import annotations

import gzip
import hashlib
import io
import tracemalloc
import zipfile

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.world.probes.delivery.landed import HashLanded
from tests.support.s3 import ports

ROWS = b"a,b\n" + b"1,2\n" * 50_000
ONE = gzip.compress(ROWS, mtime=0)
TWO = ONE + gzip.compress(b"3,4\n", mtime=0)


def look(tmp_path, body, compression="none", name="0" * 64):
    path = tmp_path / name
    path.write_bytes(body)
    return HashLanded(path, name, compression).observe(ports(None, tmp_path))


@pytest.mark.parametrize("body", [b"", b"x", ROWS], ids=["empty", "one byte", "many"])
def test_what_is_there_is_hashed(tmp_path, body):
    """Size and SHA-256 are those of the bytes on the disk, whatever the file is called."""
    seen = look(tmp_path, body)
    assert (seen["size"], seen["sha256"]) == (len(body), hashlib.sha256(body).hexdigest())
    assert (seen["decodes"], seen["decoded_size"], seen["reason"]) == (True, len(body), None)


@pytest.mark.parametrize(
    ("body", "decoded"),
    [
        (ONE, len(ROWS)),
        (TWO, len(ROWS) + 4),
        (gzip.compress(b""), 0),
        (gzip.compress(b"") + ONE, len(ROWS)),
        (b"".join(gzip.compress(str(i).encode()) for i in range(500)), 10 + 180 + 1200),
    ],
    ids=["one member", "two members", "no bytes", "an empty member first", "five hundred members"],
)
def test_all_members_of_a_gzip_are_decoded(tmp_path, body, decoded):
    """Every member counts; the digest stays that of the compressed file."""
    seen = look(tmp_path, body, "gzip")
    assert (seen["decodes"], seen["decoded_size"], seen["reason"]) == (True, decoded, None)
    assert seen["sha256"] == hashlib.sha256(body).hexdigest()


flipped = bytearray(ONE)
flipped[len(ONE) // 2] ^= 0xFF
BROKEN = {
    "cut in the middle": ONE[: len(ONE) // 2],
    "cut one byte short": ONE[:-1],
    "cut in the trailer": ONE[:-6],
    "cut in the header": ONE[:5],
    "cut in the second member": TWO[:-1],
    "cut in the second header": ONE + ONE[:4],
    "garbage behind": ONE + b"garbage",
    "zero bytes behind": ONE + b"\0" * 512,
    "a byte flipped": bytes(flipped),
    "wrong length in the trailer": ONE[:-1] + bytes([ONE[-1] ^ 1]),
    "no gzip": ROWS,
    "empty": b"",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_a_gzip_that_does_not_decode_is_a_fact(tmp_path, body):
    """Truncated, damaged or followed by anything: seen, with `decodes` false, a reason, and the digest all the same."""
    seen = look(tmp_path, body, "gzip")
    assert seen.state == "seen"
    assert seen["decodes"] is False
    assert seen["reason"]
    assert seen["sha256"] == hashlib.sha256(body).hexdigest()


def test_memory_stays_flat(tmp_path):
    """300 MB that are 300 kB on the disk are decoded piece by piece."""
    path = tmp_path / "bomb"
    with gzip.open(path, "wb") as file:
        for _ in range(300):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    seen = HashLanded(path, "0" * 64, "gzip").observe(ports(None, tmp_path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen["decoded_size"] == 300 << 20
    assert peak < 16 << 20


def test_no_file_is_absence(tmp_path):
    """A copy that is not there is an answer."""
    assert HashLanded(tmp_path / "none", "0" * 64).observe(ports(None, tmp_path)).state == "absent"


@pytest.mark.parametrize("made", ["link", "folder"])
def test_only_a_file_is_read(tmp_path, made):
    """A link could lead out of the landing, a folder has no bytes: an error, not an observation."""
    (tmp_path / "target").write_bytes(b"x")
    path = tmp_path / "copy"
    path.symlink_to(tmp_path / "target") if made == "link" else path.mkdir()
    with pytest.raises(PortError):
        HashLanded(path, "0" * 64).observe(ports(None, tmp_path))


def zipped(*members: bytes, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for number, data in enumerate(members):
            archive.writestr(f"{number}.csv", data)
    return out.getvalue()


def test_every_member_of_an_archive_is_decoded(tmp_path):
    """Whatever it is called and whether or not anybody reads it; a broken one is named, and so is a lost end."""
    path, raw = tmp_path / "landed", zipped(b"a" * 1000, b"b" * 500)
    stored = zipped(b"a", b"b" * 500, how=zipfile.ZIP_STORED)
    path.write_bytes(raw)
    seen = HashLanded(path, "0" * 64, "zip").observe(ports(None, tmp_path))
    assert (seen["decodes"], seen["decoded_size"]) == (True, 1500)
    for broken, words in (
        (raw[:-5], "zip"),
        (raw.replace(b"1.csv", b"2.csv", 1), "differ"),
        (stored.replace(b"bbb", b"bab", 1), "CRC"),
    ):
        path.write_bytes(broken)
        seen = HashLanded(path, "0" * 64, "zip").observe(ports(None, tmp_path))
        assert seen["decodes"] is False
        assert words in str(seen["reason"])
