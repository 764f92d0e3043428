// The connectors of the Corewire clients.
#pragma once

#include <memory>

#include "harness/adapter.hpp"

namespace peers::corewire_adapters {

/// CW-S: the calling thread drives the connection itself; native protocol.
std::unique_ptr<Connector> connect_native(const Endpoint& server, Connections connections);
/// CW-SHM: as CW-S, through memory that client and server share; the same host only.
std::unique_ptr<Connector> connect_memory(const Endpoint& server, Connections connections);
/// CW-REST and CW-GRPC: the same over HTTP/2.
std::unique_ptr<Connector> connect_rest(const Endpoint& server, Connections connections);
std::unique_ptr<Connector> connect_grpc(const Endpoint& server, Connections connections);
/// CW-AS: asynchronous calls on an event loop that the caller drives.
std::unique_ptr<Connector> connect_async(const Endpoint& server, Connections connections);
/// CW-EL: asynchronous calls of all callers on one event loop.
std::unique_ptr<LoopClient> connect_loop(const Endpoint& server, Connections connections,
                                         Ended& ended);
/// CW-BI: one bidirectional stream a client.
std::unique_ptr<Connector> connect_stream(const Endpoint& server, Connections connections);

}  // namespace peers::corewire_adapters
