// NNG: REQ/REP over TCP. The server answers in the callbacks of contexts, as NNG's manual has it
// for many requests at a time; a client is a socket that sends and waits. A message is a C struct
// and the payload: NNG brings no encoding, so this is its least.
#include "nng/adapters.hpp"

#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

#include <cstring>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>

#include "tcp/socket.hpp"

namespace peers {

namespace {

/// Contexts of the server: requests that it works on at a time.
constexpr int kContexts = 64;

struct Head {
    std::int32_t status;
    /// Of a request: whether the GUTI is given back.
    std::int32_t deallocate;
    cw_guti guti;
};

void check(int status, const std::string& what) {
    if (status != 0) throw std::runtime_error(what + ": " + nng_strerror(status));
}

bool read_head(nng_msg* message, Head& head) {
    if (nng_msg_len(message) < sizeof head) return false;
    std::memcpy(&head, nng_msg_body(message), sizeof head);
    return true;
}

/// One request after another, by callbacks.
class Context {
  public:
    Context(nng_socket socket, Allocator& allocator) : allocator_(allocator) {
        check(nng_aio_alloc(
                  &aio_, [](void* self) { static_cast<Context*>(self)->turn(); }, this),
              "nng_aio_alloc");
        check(nng_ctx_open(&context_, socket), "nng_ctx_open");
        nng_ctx_recv(context_, aio_);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    ~Context() {
        nng_aio_stop(aio_);
        nng_ctx_close(context_);
        nng_aio_free(aio_);
    }

  private:
    void turn() {
        const int status = nng_aio_result(aio_);
        if (status != 0 && sending_) nng_msg_free(nng_aio_get_msg(aio_));
        if (status == NNG_ECLOSED || status == NNG_ECANCELED) return;
        if (status != 0 || sending_) {
            sending_ = false;
            nng_ctx_recv(context_, aio_);
            return;
        }
        nng_msg* message = nng_aio_get_msg(aio_);
        answer(message);
        nng_aio_set_msg(aio_, message);
        sending_ = true;
        nng_ctx_send(context_, aio_);
    }

    /// In place: what came goes back, with the GUTI in its head.
    void answer(nng_msg* message) {
        Head head{};
        if (!read_head(message, head)) {
            nng_msg_clear(message);
            head.status = CW_GUTI_INVALID;
            nng_msg_append(message, &head, sizeof head);
            return;
        }
        head.status = head.deallocate != 0 ? allocator_.deallocate(head.guti)
                                           : allocator_.allocate(head.guti);
        std::memcpy(nng_msg_body(message), &head, sizeof head);
    }

    Allocator& allocator_;
    nng_aio* aio_ = nullptr;
    nng_ctx context_{};
    bool sending_ = false;
};

class NngServer final : public Server {
  public:
    NngServer(const Endpoint& listen, Allocator& allocator) : host_(listen.host) {
        // NNG has a word of its own for a port in use; a socket of ours has the system's.
        if (listen.port != 0) listen_on(listen);
        check(nng_rep0_open(&socket_), "nng_rep0_open");
        try {
            nng_listener listener{};
            const std::string url = "tcp://" + listen.to_string();
            check(nng_socket_set_size(socket_, NNG_OPT_RECVMAXSZ, 0), "NNG_OPT_RECVMAXSZ");
            check(nng_listen(socket_, url.c_str(), &listener, 0),
                  "cannot listen on " + listen.to_string());
            nng_sockaddr bound{};
            check(nng_listener_get_addr(listener, NNG_OPT_LOCADDR, &bound), "NNG_OPT_LOCADDR");
            const bool is_v6 = bound.s_family == NNG_AF_INET6;
            const std::uint16_t port = is_v6 ? bound.s_in6.sa_port : bound.s_in.sa_port;
            // In the order of the network.
            port_ = static_cast<std::uint16_t>(port << 8 | port >> 8);
            for (int i = 0; i < kContexts; ++i) contexts_.emplace_back(socket_, allocator);
        } catch (...) {
            contexts_.clear();
            nng_close(socket_);
            throw;
        }
    }
    NngServer(const NngServer&) = delete;
    NngServer& operator=(const NngServer&) = delete;
    ~NngServer() override {
        contexts_.clear();
        nng_close(socket_);
    }

    [[nodiscard]] std::string address() const override {
        return Endpoint{host_, port_, {}}.to_string();
    }

  private:
    nng_socket socket_{};
    std::string host_;
    std::uint16_t port_ = 0;
    std::list<Context> contexts_;
};

class NngClient final : public Client {
  public:
    explicit NngClient(const Endpoint& server) {
        check(nng_req0_open(&socket_), "nng_req0_open");
        try {
            const std::string url = "tcp://" + server.to_string();
            check(nng_socket_set_size(socket_, NNG_OPT_RECVMAXSZ, 0), "NNG_OPT_RECVMAXSZ");
            const nng_duration limit = kCallTimeoutSeconds * 1000;
            check(nng_socket_set_ms(socket_, NNG_OPT_RECVTIMEO, limit), "NNG_OPT_RECVTIMEO");
            check(nng_socket_set_ms(socket_, NNG_OPT_SENDTIMEO, limit), "NNG_OPT_SENDTIMEO");
            check(nng_dial(socket_, url.c_str(), nullptr, 0),
                  "cannot connect to " + server.to_string());
        } catch (...) {
            nng_close(socket_);
            throw;
        }
    }
    NngClient(const NngClient&) = delete;
    NngClient& operator=(const NngClient&) = delete;
    ~NngClient() override {
        if (message_ != nullptr) nng_msg_free(message_);
        nng_close(socket_);
    }

    Response allocate(std::string_view payload) override {
        const Head head = exchange({}, payload);
        const auto* body = static_cast<const char*>(nng_msg_body(message_));
        return {head.guti, {body + sizeof head, nng_msg_len(message_) - sizeof head}};
    }

    void deallocate(const cw_guti& guti) override { exchange({0, 1, guti}, {}); }

  private:
    Head exchange(const Head& request, std::string_view payload) {
        // The last answer's memory carries the next request.
        if (message_ == nullptr && nng_msg_alloc(&message_, 0) != 0)
            throw CallError("no memory for a message");
        nng_msg_clear(message_);
        if (nng_msg_append(message_, &request, sizeof request) != 0 ||
            nng_msg_append(message_, payload.data(), payload.size()) != 0)
            throw CallError("no memory for a message");
        if (const int status = nng_sendmsg(socket_, message_, 0); status != 0)
            throw CallError(nng_strerror(status));
        message_ = nullptr;
        if (const int status = nng_recvmsg(socket_, &message_, 0); status != 0)
            throw CallError(nng_strerror(status));
        Head head{};
        if (!read_head(message_, head)) throw CallError("the answer is too short");
        if (head.status != CW_GUTI_OK) throw CallError(describe_allocator_status(head.status));
        return head;
    }

    nng_socket socket_{};
    nng_msg* message_ = nullptr;
};

class NngConnector final : public Connector {
  public:
    explicit NngConnector(Endpoint server) : server_(std::move(server)) {}
    std::unique_ptr<Client> connect() override { return std::make_unique<NngClient>(server_); }

  private:
    Endpoint server_;
};

}  // namespace

Implementation make_nng() {
    return {
        [](const Endpoint& listen, Allocator& allocator) {
            return std::make_unique<NngServer>(listen, allocator);
        },
        [](const Endpoint& server, Connections) { return std::make_unique<NngConnector>(server); },
        [] {
            return Versions{{"nng", nng_version()}};
        }};
}

}  // namespace peers
