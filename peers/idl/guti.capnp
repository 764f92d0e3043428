# The GUTI service for the adapter CAPNP: what guti.proto and guti.thrift say.
@0xd3c1a6b0f4e82957;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("peers::capnp_idl");

struct Guti {
  mcc @0 :UInt16;
  mnc @1 :UInt16;
  # 2 or 3: 01 and 001 are different networks.
  mncDigits @2 :UInt8;
  amfRegion @3 :UInt8;
  amfSet @4 :UInt16;
  amfPointer @5 :UInt8;
  tmsi @6 :UInt32;
}

interface GutiService {
  # Allocates a 5G-GUTI and returns it with the request's payload.
  allocate @0 (payload :Data) -> (guti :Guti, payload :Data);
  # Gives a 5G-GUTI back. Fails when it is not allocated.
  deallocate @1 (guti :Guti) -> ();
}
