// The client halves of the gRPC adapters, one source file each.
#pragma once

#include <memory>

#include "harness/adapter.hpp"

namespace peers::grpc_adapters {

/// Synchronous unary calls.
std::unique_ptr<Connector> connect_s(const Endpoint& server, Connections connections);
/// Asynchronous unary calls: an event loop in a thread of its own, promise and future.
std::unique_ptr<Connector> connect_as(const Endpoint& server, Connections connections);
/// A synchronous stream for each client.
std::unique_ptr<Connector> connect_bi(const Endpoint& server, Connections connections);
/// An asynchronous stream for each client: event loop thread, promise and future.
std::unique_ptr<Connector> connect_asbi(const Endpoint& server, Connections connections);
/// Unary calls through gRPC's callback API, promise and future.
std::unique_ptr<Connector> connect_cb(const Endpoint& server, Connections connections);

}  // namespace peers::grpc_adapters
