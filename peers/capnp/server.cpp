// One thread with KJ's event loop serves all connections, as TwoPartyServer is meant.
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <system_error>
#include <thread>

#include "capnp/common.hpp"
#include "tcp/socket.hpp"

namespace peers::capnp_adapter {

namespace {

class Service final : public capnp_idl::GutiService::Server {
  public:
    explicit Service(Allocator& allocator) : allocator_(allocator) {}

    kj::Promise<void> allocate(AllocateContext context) override {
        cw_guti guti{};
        if (const int status = allocator_.allocate(guti); status != CW_GUTI_OK) {
            return refusal(status);
        }
        const auto payload = context.getParams().getPayload();
        auto results = context.getResults(size_of(payload.size()));
        auto answer = results.initGuti();
        answer.setMcc(guti.mcc);
        answer.setMnc(guti.mnc);
        answer.setMncDigits(guti.mnc_digits);
        answer.setAmfRegion(guti.amf_region);
        answer.setAmfSet(guti.amf_set);
        answer.setAmfPointer(guti.amf_pointer);
        answer.setTmsi(guti.tmsi);
        results.setPayload(payload);
        return kj::READY_NOW;
    }

    kj::Promise<void> deallocate(DeallocateContext context) override {
        const auto asked = context.getParams().getGuti();
        cw_guti guti{};
        guti.mcc = asked.getMcc();
        guti.mnc = asked.getMnc();
        guti.mnc_digits = asked.getMncDigits();
        guti.amf_region = asked.getAmfRegion();
        guti.amf_set = asked.getAmfSet();
        guti.amf_pointer = asked.getAmfPointer();
        guti.tmsi = asked.getTmsi();
        if (const int status = allocator_.deallocate(guti); status != CW_GUTI_OK) {
            return refusal(status);
        }
        return kj::READY_NOW;
    }

  private:
    static kj::Exception refusal(int status) {
        return {kj::Exception::Type::FAILED, __FILE__, __LINE__,
                kj::heapString(describe_allocator_status(status))};
    }

    Allocator& allocator_;
};

class CapnpServer final : public peers::Server {
  public:
    CapnpServer(const Endpoint& listen, Allocator& allocator)
        : listener_(listen_on(listen)), address_(address_of(listener_)) {
        // Accepted connections have it from the listener.
        const int on = 1;
        setsockopt(listener_.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (pipe(stop_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
        std::promise<void> listening;
        auto ready = listening.get_future();
        loop_ = std::thread([this, &allocator, &listening] { run(allocator, listening); });
        try {
            ready.get();
        } catch (...) {
            end();
            throw;
        }
    }
    CapnpServer(const CapnpServer&) = delete;
    CapnpServer& operator=(const CapnpServer&) = delete;
    ~CapnpServer() override { end(); }

    [[nodiscard]] std::string address() const override { return address_; }

  private:
    void run(Allocator& allocator, std::promise<void>& listening) {
        bool told = false;
        try {
            auto io = kj::setupAsyncIo();
            ::capnp::TwoPartyServer server(kj::heap<Service>(allocator));
            auto receiver = io.lowLevelProvider->wrapListenSocketFd(listener_.fd(), 0);
            auto serving = server.listen(*receiver).eagerlyEvaluate(nullptr);
            auto end = io.lowLevelProvider->wrapInputFd(stop_[0], 0);
            listening.set_value();
            told = true;
            char scratch = 0;
            // Its end is the end of the server.
            end->tryRead(&scratch, 1, 1).wait(io.waitScope);
        } catch (const kj::Exception& error) {
            if (!told) {
                listening.set_exception(
                    std::make_exception_ptr(std::runtime_error(text_of(error))));
            }
        }
    }

    void end() {
        close(stop_[1]);
        loop_.join();
        close(stop_[0]);
    }

    Socket listener_;
    std::string address_;
    int stop_[2] = {-1, -1};
    std::thread loop_;
};

}  // namespace

std::unique_ptr<peers::Server> serve(const Endpoint& listen, Allocator& allocator) {
    return std::make_unique<CapnpServer>(listen, allocator);
}

}  // namespace peers::capnp_adapter
