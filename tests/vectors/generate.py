#!/usr/bin/env python3
"""Writes curves.json: what backoff.json lacks.

    python3 generate.py > curves.json

A second implementation of the published rules, in integers only: the curves of
a backoff, its jitters and its quantum, the ids of operations, idempotency keys,
and what a hint makes of a delay. It shares no code with the crate, so that the
two can only agree where both follow the rules.
"""

import hashlib
import itertools
import json
import sys

N = 2**32 - 1
LONGEST = 2**63 - 1  # nanoseconds; every duration is clamped to it
MS = 10**6
SECOND = 10**9
DEFAULT_CAP = 20 * SECOND


def unit(operation_id, attempt):
    digest = hashlib.sha256(f"{operation_id}:{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def effective_cap(base, cap):
    return max(base, DEFAULT_CAP) if cap is None else cap


def ceiling(curve, factor, base, cap, attempt):
    cap = effective_cap(base, cap)
    if curve == "fixed":
        return min(base, cap)
    if curve == "linear":
        return min(base * attempt, cap)
    if curve == "fibonacci":
        term, after = base, base
        for _ in range(attempt - 1):
            if term >= cap or after == 0:
                break
            term, after = after, term + after
        return min(term, cap)
    p, q = factor
    fixed_point = base << 32
    for _ in range(attempt - 1):
        grown = fixed_point * p // q
        if fixed_point >> 32 >= cap or grown == fixed_point:
            break
        fixed_point = grown
    return min(fixed_point >> 32, cap)


def delay(top, cap, jitter, more, quantum, drawn):
    if jitter == "equal":
        shortened = top * (N + drawn) // (2 * N)
    elif jitter == "full":
        shortened = top * drawn // N
    elif jitter == "additive":
        shortened = min(cap, top + more * drawn // N)
    else:
        shortened = top
    if quantum:
        return max(shortened // quantum * quantum, quantum)
    return shortened


CURVES = [
    ("fixed", None),
    ("linear", None),
    ("fibonacci", None),
    ("exponential", (2, 1)),
    ("exponential", (3, 2)),
    ("exponential", (7, 5)),
    ("exponential", (1000, 999)),
    ("exponential", (1000, 1)),
    ("exponential", (1, 1)),
]
ATTEMPTS = [1, 2, 3, 4, 7, 31, 64, 65, 1025, 65_537, N]
JITTERS = [("equal", 0), ("full", 0), ("none", 0), ("additive", 250 * MS), ("additive", LONGEST)]
BASES = [1, 100 * MS, 3, 2 * SECOND, MS, 999_999_937, 0, LONGEST]
# Lengths without a common divisor, so that cycling through them mixes them.
CAPS = [None, 60 * SECOND, LONGEST, 86_400 * SECOND, 12_345_678_901, None, 30 * SECOND]
QUANTA = [0, 0, SECOND, 7, 0, 250 * MS, 0, 0, 3 * SECOND]
KEYS = ["flight-1", "flight-2", "", "a:1", "Zürich/42", "日本-☂"]


def rows():
    bases, caps, quanta, keys = map(itertools.cycle, (BASES, CAPS, QUANTA, KEYS))
    for (curve, factor), attempt, (jitter, more) in itertools.product(CURVES, ATTEMPTS, JITTERS):
        base, cap, quantum, key = next(bases), next(caps), next(quanta), next(keys)
        if cap is not None:
            cap = max(cap, base, quantum)
        top = ceiling(curve, factor, base, cap, attempt)
        drawn = unit(key, attempt)
        yield {
            "key": key,
            "attempt": attempt,
            "curve": curve,
            "factor": factor,
            "base_ns": base,
            "cap_ns": cap,
            "quantum_ns": quantum,
            "jitter": jitter,
            "additive_ns": more,
            "unit_u32": drawn,
            "ceiling_ns": top,
            "delay_ns": delay(top, effective_cap(base, cap), jitter, more, quantum, drawn),
        }


def uuid_of(parts):
    hasher = hashlib.sha256()
    for part in parts:
        raw = part.encode()
        hasher.update(len(raw).to_bytes(8, "big") + raw)
    raw = bytearray(hasher.digest()[:16])
    raw[6] = raw[6] & 0x0F | 0x80
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


NAMES = ["payments.charge", "a", "svc::Prices::fetch", "größe", "x/y#z"]
VALUES = ["order-1", "0", "-170141183460469231731687303715884105728", "é", "x" * 300, " "]
LABELS = ["refund", "", "é"]


def keys():
    for name, value in itertools.product(NAMES, VALUES):
        key = uuid_of(["retry idempotency key v1", name, value])
        children = {
            label: uuid_of(["retry idempotency key v1 child", key, label]) for label in LABELS
        }
        yield {"name": name, "value": value, "key": key, "children": children}


def ids():
    attempts = itertools.cycle((1, 2, 9, 10, N))
    for name in NAMES:
        key = uuid_of(["retry idempotency key v1", name, "order-1"])
        for text, parts in (
            (f"{name}/{key}", {"key": key}),
            (f"{name}#{0:016x}-1", {"process": 0, "sequence": 1}),
            (f"{name}#{0xC0FFEE:016x}-9007199254740993", {"process": 0xC0FFEE, "sequence": 9007199254740993}),
            (f"{name}#{2**64 - 1:016x}-{2**64 - 1}", {"process": 2**64 - 1, "sequence": 2**64 - 1}),
        ):
            attempt = next(attempts)
            yield {"name": name, **parts, "id": text, "attempt": attempt, "unit_u32": unit(text, attempt)}


def hints():
    """A hint is a floor; what is left of the deadline bounds it."""
    keys, attempts = itertools.cycle(KEYS), itertools.cycle((1, 2, 5))
    lefts = [1, 2, 50 * MS, SECOND, 900 * SECOND, LONGEST]
    asked = [0, 1, 3, 30 * MS, SECOND - 1, SECOND, 10 * SECOND, LONGEST]
    for base, left, hint in itertools.product((0, 8 * MS, 8 * SECOND), lefts, asked):
        key, attempt = next(keys), next(attempts)
        drawn = unit(key, attempt)
        computed = delay(base, effective_cap(base, None), "equal", 0, 0, drawn)
        slept = computed
        if hint > computed:
            slept = hint + (min(hint // 2, left - hint) * drawn >> 32 if hint < left else 0)
        yield {
            "key": key,
            "attempt": attempt,
            "base_ns": base,
            "left_ns": left,
            "hint_ns": hint,
            "computed_ns": computed,
            "code": "schedule_retry" if slept < left else "deadline_exceeded",
            "delay_ns": slept if slept < left else None,
        }


ABOUT = (
    "what backoff.json lacks, in the same terms: unit = first 4 bytes, big endian, of SHA-256 of"
    " 'key:attempt' in UTF-8; N = 2^32-1. rows: ceiling = exponential base*(p/q)^(attempt-1) by repeated"
    " floor(c*p/q) with 32 fractional bits, linear base*attempt, fibonacci base*(1,1,2,3,..), fixed base,"
    " never above cap_ns (null: 20 s, or the base where that is larger); jitter equal ="
    " floor(ceiling*(N+unit)/(2N)), full = floor(ceiling*unit/N), none = ceiling, additive = min(cap, ceiling +"
    " floor(additive_ns*unit/N)); then floored to a multiple of quantum_ns, one at least. keys: first 16 bytes of"
    " SHA-256 over length-prefixed parts, as a UUID of version 8. ids: keyed name/key, counted"
    " name#process-sequence. hints: fixed base, equal jitter; a longer hint is a floor, plus"
    " floor(min(hint/2, left-hint)*unit/2^32)"
)


def main():
    out = [f'{{"about": {json.dumps(ABOUT)}']
    for section in (rows, keys, ids, hints):
        lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in section())
        out.append(f' "{section.__name__}": [\n  {lines}]')
    sys.stdout.buffer.write((",\n".join(out) + "}\n").encode())


if __name__ == "__main__":
    main()
