// What the harness asks of an adapter: a server half that answers GUTI requests and a client half
// that issues them. The harness knows nothing else about the library behind either.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "corewire_guti.h"
#include "harness/allocator.hpp"
#include "harness/clock.hpp"
#include "harness/endpoint.hpp"

namespace peers {

/// How long a client waits for one answer before the call counts as failed.
inline constexpr int kCallTimeoutSeconds = 10;

/// A call that was not answered, or was answered with a failure.
class CallError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The answer to one Allocate.
struct Response {
    cw_guti guti;
    /// Borrowed from the client: valid until its next call.
    std::string_view payload;
};

/// One caller. Used by one thread at a time, except `cancel`.
class Client {
  public:
    virtual ~Client() = default;

    /// Issues one Allocate and waits for its answer. Throws CallError, also after
    /// kCallTimeoutSeconds without an answer.
    virtual Response allocate(std::string_view payload) = 0;

    /// Gives a GUTI back. Throws CallError, also when the server does not know the GUTI.
    virtual void deallocate(const cw_guti& guti) = 0;

    /// Ends the call in progress with an error; called from another thread when the call has
    /// exceeded its time. Adapters that time out by themselves need not implement it.
    virtual void cancel() {}
};

/// Makes the clients of one process; holds what they share (with `Connections::shared`, the
/// connection itself). Outlives its clients.
class Connector {
  public:
    virtual ~Connector() = default;
    /// Returns a client that is connected. Throws std::exception with a text for the user.
    virtual std::unique_ptr<Client> connect() = 0;
};

/// Is told how calls of a `LoopClient` end, on the thread that runs it; may begin the next there.
class Ended {
  public:
    virtual ~Ended() = default;
    /// The payload is borrowed until this returns. Of a Deallocate there is nothing to be told but
    /// that it was done.
    virtual void answered(unsigned caller, const Response& response) = 0;
    virtual void failed(unsigned caller, const std::string& what) = 0;
};

/// Many callers on the one thread that runs it, each with one call at a time. How calls end, also
/// that one was not answered in time, is told to the `Ended` that it was made with, inside `run`.
class LoopClient {
  public:
    virtual ~LoopClient() = default;
    /// One caller more; they are numbered from 0. Throws std::exception with a text for the user.
    virtual void connect() = 0;
    /// Begins an Allocate; the payload stays until its end.
    virtual void allocate(unsigned caller, std::string_view payload) = 0;
    /// Begins to give a GUTI back.
    virtual void deallocate(unsigned caller, const cw_guti& guti) = 0;
    /// Waits for what comes, at most until then, and does it.
    virtual void run(Nanoseconds until) = 0;
    /// Ends the caller's call, which has exceeded its time. Adapters that time out by themselves
    /// need not implement it.
    virtual void cancel(unsigned /*caller*/) {}
};

/// A server that is listening. Its destructor stops it and returns once its threads have ended;
/// clients should be gone by then, because some libraries wait for them.
class Server {
  public:
    virtual ~Server() = default;
    /// "host:port" with the port really bound.
    [[nodiscard]] virtual std::string address() const = 0;
};

/// Whether each client has a connection of its own, all use one, or each request gets a new one.
enum class Connections { own, shared, each };

/// Names and versions of the libraries an adapter runs on.
using Versions = std::vector<std::pair<std::string, std::string>>;

/// The functions of an adapter whose library was found at build time.
struct Implementation {
    /// Listens and serves in threads of its own. Throws std::exception with a text for the user.
    std::function<std::unique_ptr<Server>(const Endpoint& listen, Allocator& allocator)> serve;
    std::function<std::unique_ptr<Connector>(const Endpoint& server, Connections)> connector;
    std::function<Versions()> versions;
    /// Instead of a thread a client: all of them on one. Then `connector` is for tests.
    std::function<std::unique_ptr<LoopClient>(const Endpoint& server, Connections, Ended&)> loop{};
};

/// An adapter as the catalogue lists it.
struct Adapter {
    std::string_view name;
    std::string_view framework;
    /// Debian packages (or Corewire's own crate) that the build needs.
    std::string_view needs;
    std::string_view description;
    /// False for the network baseline: it moves one byte each way, and no GUTI.
    bool is_rpc = true;
    /// True when several clients can use one connection.
    bool can_share = false;
    /// Empty when the library was absent at build time.
    std::optional<Implementation> implementation;
    /// Why it has no TLS; empty when it has.
    std::string_view no_tls = {};
    /// True when its framework balances calls over several servers by itself.
    bool balances = false;
};

}  // namespace peers
