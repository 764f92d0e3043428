"""The GUTI service over gRPC, with grpcio's asyncio API."""

import asyncio

import grpc
import guti_pb2
import guti_pb2_grpc
from guti import Guti, arguments, check


def connect(options) -> grpc.aio.Channel:
    if options.certificates is None:
        return grpc.aio.insecure_channel(options.server)
    credentials = grpc.ssl_channel_credentials(
        root_certificates=(options.certificates / "authority.pem").read_bytes(),
        private_key=(options.certificates / "client.key").read_bytes(),
        certificate_chain=(options.certificates / "client.pem").read_bytes(),
    )
    return grpc.aio.secure_channel(options.server, credentials)


async def allocate(stub: guti_pb2_grpc.GutiServiceStub, number: int) -> Guti:
    payload = f"registration {number}".encode()
    response = await stub.Allocate(guti_pb2.AllocateRequest(payload=payload), timeout=10)
    if response.payload != payload:
        raise SystemExit(f"{payload!r} came back as {response.payload!r}")
    return Guti(*(getattr(response.guti, name) for name in Guti._fields))


async def deallocate(stub: guti_pb2_grpc.GutiServiceStub, guti: Guti) -> None:
    request = guti_pb2.DeallocateRequest(guti=guti_pb2.Guti(**guti._asdict()))
    await stub.Deallocate(request, timeout=10)


async def main() -> None:
    options = arguments(__doc__)
    async with connect(options) as channel:
        stub = guti_pb2_grpc.GutiServiceStub(channel)

        gutis = await asyncio.gather(*(allocate(stub, number) for number in range(options.count)))
        check(gutis)

        await asyncio.gather(*(deallocate(stub, guti) for guti in gutis))
        print(f"deallocated {len(gutis)} GUTIs")

        try:
            await deallocate(stub, gutis[0])
            raise SystemExit("a GUTI was deallocated twice")
        except grpc.aio.AioRpcError as error:
            if error.code() != grpc.StatusCode.NOT_FOUND:
                raise
            print(f"unknown GUTI: {error.code().name}: {error.details()}")

        # A stream that nobody sends anything on: the deadline is what ends it.
        try:
            await stub.AllocateStream(timeout=0.2).read()
            raise SystemExit("the stream outlived its deadline")
        except grpc.aio.AioRpcError as error:
            if error.code() != grpc.StatusCode.DEADLINE_EXCEEDED:
                raise
            print(f"deadline of 200 ms: {error.code().name}: {error.details()}")


if __name__ == "__main__":
    asyncio.run(main())
