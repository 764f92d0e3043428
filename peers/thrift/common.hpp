// What all Thrift adapters share: size limits, conversions, and what a request does.
#pragma once

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSSLSocket.h>

#include <memory>

#include "GutiService.h"
#include "harness/adapter.hpp"

namespace peers::thrift_adapters {

namespace idl = ::guti::thrift;

Versions versions();

/// The largest message and frame that Thrift can be told to accept.
std::shared_ptr<apache::thrift::TConfiguration> unlimited();

/// Makes the TLS sockets of one end. Must outlive them.
std::shared_ptr<apache::thrift::transport::TSSLSocketFactory> tls_sockets(const Tls& tls,
                                                                          bool is_server);

/// TFramedTransport, with the size limit applied to each message. As released, Thrift 0.17 adds
/// up what a connection has received and drops it at the limit: 100 MiB as installed, and at
/// most 2 GiB, which is 21,000 requests of 100 kB.
class FramedTransport final : public apache::thrift::transport::TFramedTransport {
  public:
    explicit FramedTransport(std::shared_ptr<TTransport> transport)
        : TFramedTransport(std::move(transport), unlimited()) {}

    uint32_t readEnd() override {
        const uint32_t bytes = TFramedTransport::readEnd();
        resetConsumedMessageSize();
        return bytes;
    }
};

class FramedTransportFactory final : public apache::thrift::transport::TTransportFactory {
  public:
    std::shared_ptr<apache::thrift::transport::TTransport> getTransport(
        std::shared_ptr<apache::thrift::transport::TTransport> transport) override {
        return std::make_shared<FramedTransport>(std::move(transport));
    }
};

/// Serves one Allocate or one Deallocate. Throws idl::GutiError.
void allocate(Allocator& allocator, const idl::AllocateRequest& request,
              idl::AllocateResponse& response);
void deallocate(Allocator& allocator, const idl::DeallocateRequest& request);

/// The answer as the harness sees it; the payload is borrowed from `response`.
Response to_response(const idl::AllocateResponse& response);
idl::DeallocateRequest to_deallocate_request(const cw_guti& guti);

}  // namespace peers::thrift_adapters
