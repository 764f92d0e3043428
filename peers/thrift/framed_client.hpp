// The client of THRIFT-S and THRIFT-NB: framed transport, binary protocol, blocking.
#pragma once

#include <memory>

#include "harness/adapter.hpp"

namespace peers::thrift_adapters {

std::unique_ptr<Connector> connect_framed(const Endpoint& server, Connections connections);

}  // namespace peers::thrift_adapters
