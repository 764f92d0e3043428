// The replica over gRPC: both services at every port, one completion queue, one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mesh/load.hpp"
#include "mesh/options.hpp"

namespace mesh {

/// A running replica; the destructor stops it.
class Replica {
  public:
    virtual ~Replica() = default;
    [[nodiscard]] virtual const std::vector<std::string>& addresses() const = 0;
    [[nodiscard]] virtual Versions versions() const = 0;
};

std::unique_ptr<Replica> serve_grpc(const ReplicaOptions& options);

}  // namespace mesh
