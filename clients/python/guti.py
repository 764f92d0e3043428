"""What both clients share: their command line, and what a GUTI must be."""

import argparse
from pathlib import Path
from typing import NamedTuple


class Guti(NamedTuple):
    """A 5G-GUTI (3GPP TS 23.003 clause 2.10)."""

    mcc: int
    mnc: int
    mnc_digits: int
    amf_region: int
    amf_set: int
    amf_pointer: int
    tmsi: int

    def is_well_formed(self) -> bool:
        return (
            self.mcc <= 999
            and self.mnc_digits in (2, 3)
            and self.mnc < 10**self.mnc_digits
            and self.amf_region <= 0xFF
            and self.amf_set <= 0x3FF
            and self.amf_pointer <= 0x3F
            and self.tmsi < 0xFFFFFFFF
        )

    def __str__(self) -> str:
        mnc = f"{self.mnc:0{self.mnc_digits}}"
        amf = f"{self.amf_region:02x}{self.amf_set << 6 | self.amf_pointer:04x}"
        return f"5g-guti-{self.mcc:03}{mnc}{amf}{self.tmsi:08x}"


def check(gutis: list[Guti]) -> None:
    """All well-formed, no two the same."""
    wrong = [guti for guti in gutis if not guti.is_well_formed()]
    if wrong:
        raise SystemExit(f"{wrong[0]} is no GUTI")
    if len(set(gutis)) != len(gutis):
        raise SystemExit("a GUTI was allocated twice")
    print(f"allocated {len(gutis)} GUTIs, all different; the first is {gutis[0]}")


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("server", help="HOST:PORT")
    parser.add_argument("count", type=int, help="GUTIs to allocate")
    parser.add_argument(
        "certificates",
        type=Path,
        nargs="?",
        help="mutual TLS: folder of authority.pem, client.pem and client.key (default: clear text)",
    )
    return parser.parse_args()
