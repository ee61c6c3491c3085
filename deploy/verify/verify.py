#!/usr/bin/env python3
"""Checks a proof that `agentctl audit prove` printed, with nothing of Cordon's and nothing but Python's own library.

Written from the documents alone: RFC 9162 (2.1.3.2 and 2.1.4.2, Merkle proofs), RFC 8032 (5.1.7, Ed25519), and the
C2SP notes on signed notes and checkpoints. It reads the files it is given, and changes nothing.

    verify.py [--key FILE]... [--checkpoint FILE] [PROOF]

PROOF is a file, or standard input. --key is the log's public key as it was kept elsewhere; without it the proof's own
is used, and that is said. Where the key was changed since a checkpoint was kept, name the old one and the new one.
--checkpoint is a checkpoint that was kept elsewhere, the last if the file has several: the proof must be of a log that
grew from it. Exit status 0 if everything holds, 1 if not, 64 for a mistake in the arguments.
"""

import argparse
import base64
import binascii
import hashlib
import json
import sys

# RFC 8032, 5.1: the field, the curve's constant, the order of the base point.
P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P
L = 2**252 + 27742317777372353535851937790883648493
ROOT = pow(2, (P - 1) // 4, P)


class Broken(Exception):
    """Something does not hold; the text says what."""


def decompress(data):
    """A point from its 32 bytes (5.1.3), in extended coordinates; None if there is none."""
    if len(data) != 32:
        return None
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if (v * x * x - u) % P:
        x = x * ROOT % P
    if (v * x * x - u) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def add(p, q):
    """The sum of two points (5.1.4)."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(scalar, point):
    """A multiple of a point."""
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point, scalar = add(point, point), scalar >> 1
    return total


def same(p, q):
    """Whether two points are one."""
    return (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0


BASE = decompress((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def signed(key, message, signature):
    """Whether a signature is of this key over this message (5.1.7)."""
    point, r = decompress(key), decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or point is None or r is None or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return same(times(s, BASE), add(r, times(k, point)))


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def node(left, right):
    return sha256(b"\x01", left, right)


def inclusion_root(index, size, leaf, proof):
    """The root that an inclusion proof comes to (RFC 9162, 2.1.3.2)."""
    if index >= size:
        raise Broken("the index is beyond the tree")
    fn, sn, r = index, size - 1, leaf
    for p in proof:
        if sn == 0:
            raise Broken("the inclusion proof is too long")
        if fn & 1 or fn == sn:
            r = node(p, r)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = node(r, p)
        fn, sn = fn >> 1, sn >> 1
    if sn:
        raise Broken("the inclusion proof is too short")
    return r


def consistent(first, first_root, second, second_root, proof):
    """Whether a tree is the beginning of another (RFC 9162, 2.1.4.2)."""
    if not 0 < first <= second:
        raise Broken("the sizes of the consistency proof are no sizes")
    if first == second:
        return not proof and first_root == second_root
    path = list(proof)
    if first & (first - 1) == 0:
        path.insert(0, first_root)
    if not path:
        return False
    fn, sn = first - 1, second - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(c, fr), node(c, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == first_root and sr == second_root


def read_key(text):
    """Name, id and key of a note's public key: name+id+base64(type, key)."""
    name, ident, data = text.strip().split("+", 2)
    data = base64.b64decode(data, validate=True)
    if len(data) != 33 or data[0] != 1:
        raise Broken("the key is no Ed25519 key")
    if sha256(name.encode(), b"\n", data)[:4].hex() != ident:
        raise Broken("the key's id is not its own")
    return name, bytes.fromhex(ident), data[1:]


def read_checkpoint(note, keys):
    """Size and root of a checkpoint that one of these keys signed; of several, the last."""
    parts = note.rstrip("\n").split("\n\n")
    if len(parts) < 2:
        raise Broken("the checkpoint is no signed note")
    text, lines = parts[-2] + "\n", parts[-1]
    signers = {(name, ident): public for name, ident, public in keys}
    holds = None
    for line in lines.splitlines():
        mark, signer, data = line.split(" ", 2)
        data = base64.b64decode(data, validate=True)
        if mark != "\u2014":
            raise Broken("the checkpoint is no signed note")
        public = signers.get((signer, data[:4]))
        if public is not None:
            if not signed(public, text.encode(), data[4:]):
                raise Broken("the checkpoint's signature does not fit it")
            holds = signer
    if holds is None:
        raise Broken("the checkpoint is not signed by this key")
    origin, size, root = text.splitlines()[:3]
    if origin != holds:
        raise Broken("the checkpoint is of the log %s, and the key is that of %s" % (origin, holds))
    return int(size), base64.b64decode(root, validate=True)


def hashes(items):
    found = [bytes.fromhex(item) for item in items]
    if any(len(item) != 32 for item in found):
        raise Broken("a hash of a proof has another length")
    return found


def check(proof, keys, kept):
    """Checks everything; gives what holds."""
    size, root = read_checkpoint(proof["checkpoint"], keys)
    index, entry = int(proof["index"]), proof["entry"].encode()
    if inclusion_root(index, size, sha256(b"\x00", entry), hashes(proof["inclusion"])) != root:
        raise Broken("entry %d is not in the tree of %d entries that was signed" % (index, size))
    if json.loads(entry)["index"] != index:
        raise Broken("the entry says that it is another")
    said = ["entry %d is in the tree of %d entries that was signed" % (index, size)]
    grown = proof.get("consistency")
    if grown:
        newer, newer_root = read_checkpoint(grown["checkpoint"], keys)
        older, older_root = int(grown["from"]), bytes.fromhex(grown["from_root"])
        notes = [note for note in (kept, grown.get("from_checkpoint")) if note]
        for note in notes:
            if read_checkpoint(note, keys) != (older, older_root):
                raise Broken("the kept checkpoint is of another tree than the proof: the log has forked")
        if not consistent(older, older_root, newer, newer_root, hashes(grown["proof"])):
            raise Broken("the tree of %d entries is not the beginning of that of %d" % (older, newer))
        said.append("the tree of %d entries is the beginning of that of %d" % (older, newer))
    elif kept:
        raise Broken("the proof says nothing of the kept checkpoint")
    return said


def main():
    parser = argparse.ArgumentParser(description="Checks a proof that agentctl audit prove printed.")
    parser.add_argument("--key", action="append", help="the log's public key, kept elsewhere; again for an older one")
    parser.add_argument("--checkpoint", help="a checkpoint, kept elsewhere")
    parser.add_argument("proof", nargs="?", help="the proof; standard input without one")
    try:
        words = parser.parse_args()
    except SystemExit as end:
        return 64 if end.code else 0

    def text(path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    try:
        proof = json.loads(text(words.proof) if words.proof else sys.stdin.read())
        keys = [read_key(key) for key in (map(text, words.key) if words.key else [proof["key"]])]
        said = check(proof, keys, text(words.checkpoint) if words.checkpoint else None)
    except Broken as fault:
        print("does not hold: %s" % fault)
        return 1
    except (OSError, ValueError, KeyError, TypeError, AttributeError, binascii.Error) as fault:
        print("does not hold: not a proof that can be read (%s)" % type(fault).__name__)
        return 1
    print("\n".join(said))
    if not words.key:
        print("note: the key came with the proof; compare it with one that was kept elsewhere")
    return 0


if __name__ == "__main__":
    sys.exit(main())
