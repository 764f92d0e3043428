#include "thrift/evhttp_server.hpp"

#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thrift/TApplicationException.h>
#include <thrift/async/TAsyncProtocolProcessor.h>
#include <thrift/async/TEvhttpServer.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "harness/signals.hpp"
#include "tcp/socket.hpp"
#include "thrift/common.hpp"
#include "thrift/libevent.hpp"

namespace peers::thrift_adapters {

namespace {

class AsyncHandler final : public idl::GutiServiceCobSvIf {
  public:
    explicit AsyncHandler(Allocator& allocator) : allocator_(allocator) {}

    void Allocate(std::function<void(idl::AllocateResponse const&)> answer,
                  std::function<void(apache::thrift::TDelayedException*)> fail,
                  const idl::AllocateRequest& request) override {
        idl::AllocateResponse response;
        try {
            allocate(allocator_, request, response);
        } catch (const idl::GutiError& error) {
            return fail(apache::thrift::TDelayedException::delayException(error));
        }
        answer(response);
    }

    void Deallocate(std::function<void(idl::DeallocateResponse const&)> answer,
                    std::function<void(apache::thrift::TDelayedException*)> fail,
                    const idl::DeallocateRequest& request) override {
        try {
            deallocate(allocator_, request);
        } catch (const idl::GutiError& error) {
            return fail(apache::thrift::TDelayedException::delayException(error));
        }
        answer(idl::DeallocateResponse());
    }

  private:
    Allocator& allocator_;
};

class EvhttpServer final : public Server {
  public:
    EvhttpServer(const Endpoint& listen, Allocator& allocator)
        : server_(std::make_shared<apache::thrift::async::TAsyncProtocolProcessor>(
              std::make_shared<idl::GutiServiceAsyncProcessor>(
                  std::make_shared<AsyncHandler>(allocator)),
              std::make_shared<apache::thrift::protocol::TBinaryProtocolFactory>())),
          base_(event_base_new()),
          http_(evhttp_new(base_.get())) {
        // The constructor of TEvhttpServer that takes a port listens on all addresses and cannot
        // tell a port that the system chose, hence a socket of our own.
        Socket socket = listen_on(listen);
        endpoint_ = Endpoint::parse(address_of(socket));
        const int on = 1;
        // Inherited by the connections: an answer of several segments must not wait for an
        // acknowledgement.
        setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        const int fd = dup(socket.fd());
        evutil_make_socket_nonblocking(fd);
        if (evhttp_accept_socket(http_.get(), fd) != 0) {
            throw std::runtime_error("libevent does not accept the listening socket");
        }
        evhttp_set_cb(http_.get(), "/", apache::thrift::async::TEvhttpServer::request, &server_);
        stop_event_.reset(event_new(
            base_.get(), stop_.fd(), EV_READ,
            [](evutil_socket_t, short, void* base) {
                event_base_loopbreak(static_cast<event_base*>(base));
            },
            base_.get()));
        event_add(stop_event_.get(), nullptr);
        thread_ = std::thread([this] { event_base_dispatch(base_.get()); });
    }

    ~EvhttpServer() override {
        stop_.add();
        thread_.join();
    }

    [[nodiscard]] std::string address() const override { return endpoint_.to_string(); }

  private:
    Endpoint endpoint_;
    apache::thrift::async::TEvhttpServer server_;
    Tally stop_;
    // Destroyed in the reverse order: events and connections before their base.
    EventBase base_;
    Http http_;
    Event stop_event_;
    std::thread thread_;
};

}  // namespace

std::unique_ptr<Server> serve_evhttp(const Endpoint& listen, Allocator& allocator) {
    return std::make_unique<EvhttpServer>(listen, allocator);
}

}  // namespace peers::thrift_adapters
