"""The GUTI service over REST: JSON over HTTP/2, with httpx."""

import asyncio
import base64
import ssl

import httpx
from guti import Guti, arguments, check

# The names of GUTIs' members in JSON, in the order of Guti's.
MEMBERS = ("mcc", "mnc", "mncDigits", "amfRegion", "amfSet", "amfPointer", "tmsi")


def connect(options) -> httpx.AsyncClient:
    if options.certificates is None:
        # HTTP/2 with prior knowledge (RFC 9113 section 3.3): the server speaks no HTTP/1.1.
        url, tls = f"http://{options.server}", False
    else:
        url = f"https://{options.server}"
        tls = ssl.create_default_context(cafile=options.certificates / "authority.pem")
        tls.load_cert_chain(options.certificates / "client.pem", options.certificates / "client.key")
    return httpx.AsyncClient(
        base_url=f"{url}/guti.v1.GutiService", verify=tls, http1=False, http2=True, timeout=10
    )


async def allocate(client: httpx.AsyncClient, number: int) -> Guti:
    payload = base64.b64encode(f"registration {number}".encode()).decode()
    response = await client.post("/Allocate", json={"payload": payload})
    answer = response.raise_for_status().json()
    if answer["payload"] != payload:
        raise SystemExit(f"{payload} came back as {answer['payload']}")
    return Guti(*(answer["guti"][name] for name in MEMBERS))


async def deallocate(client: httpx.AsyncClient, guti: Guti) -> httpx.Response:
    return await client.post("/Deallocate", json={"guti": dict(zip(MEMBERS, guti))})


def problem(response: httpx.Response, status: int, cause: str) -> str:
    """What a problem document (RFC 9457) says, if it is the expected one."""
    document = response.json()
    if response.status_code != status or document.get("cause") != cause:
        raise SystemExit(f"expected {status} {cause}, not {response.status_code} {document}")
    return f"{status} {cause}: {document.get('detail', '')}"


async def slowly():
    """A request's body that takes longer than the deadline to begin."""
    await asyncio.sleep(0.4)
    yield b"{}"


async def main() -> None:
    options = arguments(__doc__)
    async with connect(options) as client:
        gutis = await asyncio.gather(*(allocate(client, number) for number in range(options.count)))
        check(gutis)

        for response in await asyncio.gather(*(deallocate(client, guti) for guti in gutis)):
            response.raise_for_status()
        print(f"deallocated {len(gutis)} GUTIs")

        print("unknown GUTI:", problem(await deallocate(client, gutis[0]), 404, "NOT_FOUND"))

        # The server's clock: TS 29.500 clause 6.11.2. The client's own is httpx's `timeout`.
        deadline = {"3gpp-sbi-max-rsp-time": "200", "content-type": "application/json"}
        late = await client.post("/Allocate", headers=deadline, content=slowly())
        print("deadline of 200 ms:", problem(late, 504, "TIMED_OUT_REQUEST"))


if __name__ == "__main__":
    asyncio.run(main())
