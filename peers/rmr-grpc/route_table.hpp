// A static route table: which endpoints a message goes to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace peers::rmr_grpc {

class Endpoint;

/// Endpoints that take turns.
struct Group {
    std::vector<Endpoint*> endpoints;
    std::atomic<std::uint32_t> next{0};

    Endpoint& pick() noexcept {
        return *endpoints[next.fetch_add(1, std::memory_order_relaxed) % endpoints.size()];
    }
};

/// A message goes to one endpoint of every group, or to the owner of its MEID.
struct Route {
    bool by_meid = false;
    std::vector<std::unique_ptr<Group>> groups;
};

/// What a table is read for.
class Surroundings {
  public:
    virtual ~Surroundings() = default;
    /// The same endpoint for the same name, always.
    virtual Endpoint& endpoint(std::string_view name) = 0;
    [[nodiscard]] virtual bool is_us(std::string_view name) const = 0;
};

class RouteTable {
  public:
    /// Reads the records newrt, rte, mse, meid_map and mme_ar. Throws std::runtime_error that names
    /// the line and what is wrong with it.
    static std::unique_ptr<RouteTable> parse(std::string_view text, Surroundings& surroundings);

    /// The route of a message type and subscription id, or of the type with any subscription id;
    /// null when there is none.
    [[nodiscard]] const Route* find(int mtype, int sub_id) const noexcept;
    [[nodiscard]] Endpoint* owner(const std::string& meid) const noexcept;

  private:
    friend class RouteTableParser;

    std::unordered_map<std::uint64_t, Route> routes_;
    std::unordered_map<std::string, Endpoint*> owners_;
};

}  // namespace peers::rmr_grpc
