// CW-S, CW-SHM, CW-REST, CW-GRPC: a call writes, then reads until its answer is there, on the
// caller's own thread.
#include <memory>

#include "corewire/clients.hpp"
#include "corewire/common.hpp"
#include "harness/connector.hpp"

namespace peers::corewire_adapters {

namespace {

constexpr char kNative[] = "native";
constexpr char kMemory[] = "shm";
constexpr char kRest[] = "rest";
constexpr char kGrpc[] = "grpc";

corewire::Channel connect(const char* protocol, const Endpoint& server) {
    try {
        return corewire::Channel(url(protocol, server).c_str(), channel_options(server));
    } catch (const corewire::Error& error) {
        cannot_connect(server, error);
    }
}

template <const char* Protocol>
struct Connection {
    explicit Connection(const Endpoint& server) : channel(connect(Protocol, server)) {}

    corewire::Channel channel;
    Operations operations;
};

template <const char* Protocol>
class BlockingClient final : public Client {
  public:
    explicit BlockingClient(std::shared_ptr<Connection<Protocol>> connection)
        : connection_(std::move(connection)) {}

    Response allocate(std::string_view payload) override {
        return as_call([&] {
            const AllocateRequestHead head(payload.size());
            response_ = connection_->channel.call(connection_->operations.allocate,
                                                  {head.piece(), corewire::piece(payload)});
            response_.expect_ok();
            return read_allocate_response(response_.body());
        });
    }

    void deallocate(const cw_guti& guti) override {
        as_call([&] {
            const DeallocateRequest request(guti);
            connection_->channel.call(connection_->operations.deallocate, {request.piece()})
                .expect_ok();
        });
    }

  private:
    std::shared_ptr<Connection<Protocol>> connection_;
    /// Kept because the payload is read in place.
    corewire::Response response_;
};

template <const char* Protocol>
std::unique_ptr<Connector> connector(const Endpoint& server, Connections connections) {
    return make_connector<Connection<Protocol>, BlockingClient<Protocol>>(server, connections);
}

}  // namespace

std::unique_ptr<Connector> connect_native(const Endpoint& server, Connections connections) {
    return connector<kNative>(server, connections);
}
std::unique_ptr<Connector> connect_memory(const Endpoint& server, Connections connections) {
    return connector<kMemory>(server, connections);
}
std::unique_ptr<Connector> connect_rest(const Endpoint& server, Connections connections) {
    return connector<kRest>(server, connections);
}
std::unique_ptr<Connector> connect_grpc(const Endpoint& server, Connections connections) {
    return connector<kGrpc>(server, connections);
}

}  // namespace peers::corewire_adapters
