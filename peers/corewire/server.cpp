#include "corewire/server.hpp"

#include <corewire.hpp>

#include "corewire/common.hpp"
#include "corewire/messages.hpp"

namespace peers::corewire_adapters {

namespace {

constexpr const char* kMalformed = "the message is not what guti.proto says";

void allocate(Allocator& allocator, corewire::Call call) {
    corewire_slice payload;
    if (!read_allocate_request(call.body(), payload)) {
        call.fail(COREWIRE_INVALID_ARGUMENT, kMalformed);
        return;
    }
    cw_guti guti;
    if (const int status = allocator.allocate(guti); status != CW_GUTI_OK) {
        call.fail(COREWIRE_RESOURCE_EXHAUSTED, describe_allocator_status(status));
        return;
    }
    // The payload lies in the request's body: it is sent from there.
    call.reply({AllocateResponseHead(guti, payload.length).piece(), payload});
}

void deallocate(Allocator& allocator, corewire::Call call) {
    cw_guti guti;
    if (!read_deallocate_request(call.body(), guti)) {
        call.fail(COREWIRE_INVALID_ARGUMENT, kMalformed);
        return;
    }
    if (const int status = allocator.deallocate(guti); status != CW_GUTI_OK) {
        call.fail(COREWIRE_NOT_FOUND, describe_allocator_status(status));
        return;
    }
    call.reply();
}

void allocate_in_stream(Allocator& allocator, corewire::StreamView stream,
                        corewire::Bytes message) {
    corewire_slice payload;
    if (!read_allocate_request(message, payload)) {
        stream.finish(COREWIRE_INVALID_ARGUMENT, kMalformed);
        return;
    }
    cw_guti guti;
    if (const int status = allocator.allocate(guti); status != CW_GUTI_OK) {
        stream.finish(COREWIRE_RESOURCE_EXHAUSTED, describe_allocator_status(status));
        return;
    }
    // One answer a message always has room: the next message comes when it is on its way.
    stream.send({AllocateResponseHead(guti, payload.length).piece(), payload});
}

corewire::Handlers handlers(Allocator& allocator) {
    corewire::Handlers handlers;
    handlers.on_call(kAllocate,
                     [&allocator](corewire::Call call) { allocate(allocator, std::move(call)); });
    handlers.on_call(kDeallocate,
                     [&allocator](corewire::Call call) { deallocate(allocator, std::move(call)); });
    corewire::StreamHandler stream;
    stream.on_message = [&allocator](corewire::StreamView view, corewire::Bytes message) {
        allocate_in_stream(allocator, view, message);
    };
    stream.on_end = [](corewire::ServerStream ended, corewire_code) { ended.finish(); };
    handlers.on_stream(kAllocateStream, std::move(stream));
    return handlers;
}

corewire::ServerOptions options(const Tls& tls) {
    corewire::ServerOptions options;
    if (tls.on()) {
        options.tls = corewire::ServerTls{
            .files = {tls.certificate, tls.key, tls.mutual() ? tls.authorities : std::string()}};
    }
    // The server has one core.
    options.loops = 1;
    if (waiting() == Waiting::polling) options.busy_poll = kPolling;
    if (waiting() == Waiting::sleeping) options.patience = std::chrono::microseconds(0);
    return options;
}

class GutiServer final : public Server {
  public:
    GutiServer(const Endpoint& listen, Allocator& allocator)
        : server_({listen.to_string()}, handlers(allocator), options(listen.tls)) {}

    [[nodiscard]] std::string address() const override { return server_.address(); }

  private:
    corewire::Server server_;
};

}  // namespace

std::unique_ptr<Server> serve(const Endpoint& listen, Allocator& allocator) {
    return std::make_unique<GutiServer>(listen, allocator);
}

}  // namespace peers::corewire_adapters
