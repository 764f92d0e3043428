"""The GUTI service over Thrift, for servers of Apache Thrift: framed binary protocol, clear text."""

from guti import Guti, arguments, check
from guti_thrift import GutiService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TFramedTransport


def from_message(message: ttypes.Guti) -> Guti:
    # Thrift has no unsigned integers: these carry the bits.
    return Guti(
        message.mcc,
        message.mnc,
        message.mnc_digits,
        message.amf_region & 0xFF,
        message.amf_set,
        message.amf_pointer,
        message.tmsi & 0xFFFFFFFF,
    )


def allocate(client: GutiService.Client, number: int) -> ttypes.Guti:
    payload = f"registration {number}".encode()
    response = client.Allocate(ttypes.AllocateRequest(payload=payload))
    if response.payload != payload:
        raise SystemExit(f"{payload!r} came back as {response.payload!r}")
    return response.guti


def main() -> None:
    options = arguments(__doc__)
    host, _, port = options.server.rpartition(":")
    socket = TSocket(host, int(port))
    socket.setTimeout(10_000)
    transport = TFramedTransport(socket)
    transport.open()
    client = GutiService.Client(TBinaryProtocol(transport))

    gutis = [allocate(client, number) for number in range(options.count)]
    check([from_message(guti) for guti in gutis])

    for guti in gutis:
        client.Deallocate(ttypes.DeallocateRequest(guti=guti))
    print(f"deallocated {len(gutis)} GUTIs")

    try:
        client.Deallocate(ttypes.DeallocateRequest(guti=gutis[0]))
        raise SystemExit("a GUTI was deallocated twice")
    except ttypes.GutiError as error:
        print(f"unknown GUTI: {error.message}")
    transport.close()


if __name__ == "__main__":
    main()
