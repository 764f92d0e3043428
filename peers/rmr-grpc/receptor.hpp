// The receiving side: gRPC's server and, one executing instance a connection, the receptor.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "bob.grpc.pb.h"

namespace peers::rmr_grpc {

class Context;

/// Reads one connection's messages and puts them into the ring, with the copy that the brief names
/// as this design's cost: what gRPC hands out ends with the next read.
class Receptor final : public ::rmr::v1::Receptor::Service {
  public:
    explicit Receptor(Context& context) : context_(context) {}

    grpc::Status Deliver(grpc::ServerContext* call,
                         grpc::ServerReaderWriter<::rmr::v1::Bob, ::rmr::v1::Bob>* stream) override;

  private:
    Context& context_;
};

class Server {
  public:
    /// Throws std::runtime_error when the address is refused.
    Server(Context& context, const std::string& address);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

  private:
    Receptor receptor_;
    std::unique_ptr<grpc::Server> server_;
};

}  // namespace peers::rmr_grpc
