// A caller waits for its answer inside KJ's event loop, in its own thread. A loop belongs to the
// thread that made it, so a client's connection is put on the loop of the thread that calls first,
// and what hangs on a loop goes with its thread.
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <utility>

#include "capnp/common.hpp"
#include "tcp/socket.hpp"

namespace peers::capnp_adapter {

namespace {

/// A connection on the loop of one thread.
class Session {
  public:
    Session(kj::AsyncIoContext& io, int fd)
        : scope_(io.waitScope),
          stream_(io.lowLevelProvider->wrapSocketFd(
              fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                      kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC)),
          rpc_(*stream_),
          service_(rpc_.bootstrap().castAs<capnp_idl::GutiService>()) {}

    Response allocate(std::string_view payload) {
        auto request = service_.allocateRequest(size_of(payload.size()));
        request.setPayload({reinterpret_cast<const kj::byte*>(payload.data()), payload.size()});
        answer_ = kj::heap<Answer>(request.send().wait(scope_));
        const auto guti = answer_->getGuti();
        const auto back = answer_->getPayload();
        Response response{};
        response.guti.mcc = guti.getMcc();
        response.guti.mnc = guti.getMnc();
        response.guti.mnc_digits = guti.getMncDigits();
        response.guti.amf_region = guti.getAmfRegion();
        response.guti.amf_set = guti.getAmfSet();
        response.guti.amf_pointer = guti.getAmfPointer();
        response.guti.tmsi = guti.getTmsi();
        response.payload = {reinterpret_cast<const char*>(back.begin()), back.size()};
        return response;
    }

    void deallocate(const cw_guti& guti) {
        auto request = service_.deallocateRequest();
        auto asked = request.initGuti();
        asked.setMcc(guti.mcc);
        asked.setMnc(guti.mnc);
        asked.setMncDigits(guti.mnc_digits);
        asked.setAmfRegion(guti.amf_region);
        asked.setAmfSet(guti.amf_set);
        asked.setAmfPointer(guti.amf_pointer);
        asked.setTmsi(guti.tmsi);
        request.send().wait(scope_);
    }

  private:
    using Answer = ::capnp::Response<capnp_idl::GutiService::AllocateResults>;

    kj::WaitScope& scope_;
    kj::Own<kj::AsyncIoStream> stream_;
    ::capnp::TwoPartyClient rpc_;
    capnp_idl::GutiService::Client service_;
    /// The caller borrows its payload until the next call.
    kj::Own<Answer> answer_;
};

class CapnpClient;

/// What a calling thread has.
struct Loop {
    kj::AsyncIoContext io = kj::setupAsyncIo();
    std::map<const CapnpClient*, std::unique_ptr<Session>> sessions;
};

thread_local std::unique_ptr<Loop> loop_of_thread;

/// Runs a call; what KJ throws becomes what the harness expects.
template <typename Run>
auto as_call(Run&& run) {
    try {
        return run();
    } catch (const kj::Exception& error) {
        throw CallError(text_of(error));
    }
}

class CapnpClient final : public Client {
  public:
    explicit CapnpClient(const Endpoint& server) : socket_(connect_to(server)) {}
    CapnpClient(const CapnpClient&) = delete;
    CapnpClient& operator=(const CapnpClient&) = delete;
    ~CapnpClient() override {
        if (loop_of_thread) loop_of_thread->sessions.erase(this);
    }

    Response allocate(std::string_view payload) override {
        return as_call([&] { return session().allocate(payload); });
    }

    void deallocate(const cw_guti& guti) override {
        as_call([&] { session().deallocate(guti); });
    }

    /// The loop sees the end of the connection and fails the call.
    void cancel() override { socket_.shut_down(); }

  private:
    Session& session() {
        if (!loop_of_thread) loop_of_thread = std::make_unique<Loop>();
        auto& sessions = loop_of_thread->sessions;
        const auto found = sessions.find(this);
        if (found != sessions.end()) return *found->second;
        if (std::exchange(is_bound_, true)) {
            throw CallError("a client of Cap'n Proto belongs to the thread of its first call");
        }
        // The session owns a descriptor of its own: ours stays for `cancel`.
        const int fd = dup(socket_.fd());
        if (fd < 0) throw CallError("no descriptor left for a connection");
        auto session = std::make_unique<Session>(loop_of_thread->io, fd);
        return *sessions.emplace(this, std::move(session)).first->second;
    }

    Socket socket_;
    bool is_bound_ = false;
};

class CapnpConnector final : public Connector {
  public:
    explicit CapnpConnector(Endpoint server) : server_(std::move(server)) {}
    std::unique_ptr<Client> connect() override { return std::make_unique<CapnpClient>(server_); }

  private:
    Endpoint server_;
};

}  // namespace

std::unique_ptr<Connector> connector(const Endpoint& server, Connections) {
    return std::make_unique<CapnpConnector>(server);
}

}  // namespace peers::capnp_adapter
