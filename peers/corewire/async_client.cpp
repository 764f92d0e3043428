// CW-AS: asynchronous calls on an event loop that the callers drive themselves.
//
// Of the callers that share a connection one at a time drives its loop, for all; when its own
// answer has come it hands the loop to another that waits. A caller with a connection of its own
// drives it always, and no thread is woken.
#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "corewire/clients.hpp"
#include "corewire/common.hpp"
#include "harness/connector.hpp"

namespace peers::corewire_adapters {

namespace {

class Connection {
  public:
    /// One call in flight, and its caller.
    struct Call {
        bool ended = false;
        corewire::Outcome outcome;
        std::condition_variable wake;
        Connection* connection = nullptr;
    };

    explicit Connection(const Endpoint& server)
        : channel_(loop_.connect(url("native", server).c_str(), channel_options(server))) {
        // The connection is made at the first call. This one nobody serves: its answer, a
        // failure, shows that the server is there.
        const corewire::Operation nothing("guti.v1.GutiService/Nothing");
        Call call;
        try {
            wait(call, nothing, {});
        } catch (const corewire::Error& error) {
            cannot_connect(server, error);
        }
    }

    const Operations operations;

    /// Calls, and drives the loop until the answer is there. Throws corewire::Error.
    corewire::Response wait(Call& call, const corewire::Operation& operation,
                            const corewire::Body& body) {
        call.ended = false;
        call.connection = this;
        channel_.call(operation, body,
                      [&call](corewire::Outcome outcome) { end(call, std::move(outcome)); });
        drive_until_ended(call);
        return call.outcome.response();
    }

  private:
    /// Runs on the thread that drives.
    static void end(Call& call, corewire::Outcome outcome) {
        const std::lock_guard lock(call.connection->mutex_);
        call.outcome = std::move(outcome);
        call.ended = true;
        call.wake.notify_one();
    }

    void drive_until_ended(Call& call) {
        std::unique_lock lock(mutex_);
        if (driven_) {
            waiting_.push_back(&call);
            call.wake.wait(lock, [&] { return call.ended || !driven_; });
            waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &call));
        }
        if (call.ended) {
            // Woken to drive, it has no need to: another may have.
            pass_on();
            return;
        }
        driven_ = true;
        lock.unlock();
        // From here on only callbacks on this thread write `ended`.
        while (!call.ended) loop_.run_once();
        lock.lock();
        driven_ = false;
        pass_on();
    }

    void pass_on() {
        if (!driven_ && !waiting_.empty()) waiting_.front()->wake.notify_one();
    }

    std::mutex mutex_;
    bool driven_ = false;
    std::vector<Call*> waiting_;
    corewire::Loop loop_;
    corewire::AsyncChannel channel_;
};

class AsyncClient final : public Client {
  public:
    explicit AsyncClient(std::shared_ptr<Connection> connection)
        : connection_(std::move(connection)) {}

    Response allocate(std::string_view payload) override {
        return as_call([&] {
            const AllocateRequestHead head(payload.size());
            response_ = connection_->wait(call_, connection_->operations.allocate,
                                          {head.piece(), corewire::piece(payload)});
            response_.expect_ok();
            return read_allocate_response(response_.body());
        });
    }

    void deallocate(const cw_guti& guti) override {
        as_call([&] {
            const DeallocateRequest request(guti);
            connection_->wait(call_, connection_->operations.deallocate, {request.piece()})
                .expect_ok();
        });
    }

  private:
    std::shared_ptr<Connection> connection_;
    Connection::Call call_;
    /// Kept because the payload is read in place.
    corewire::Response response_;
};

}  // namespace

std::unique_ptr<Connector> connect_async(const Endpoint& server, Connections connections) {
    return make_connector<Connection, AsyncClient>(server, connections);
}

}  // namespace peers::corewire_adapters
