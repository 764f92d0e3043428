// The GUTI service over Corewire's native protocol: corewire.hpp, with the messages of
// corewire_guti.h.
#include <array>
#include <chrono>

#include "corewire.hpp"
#include "corewire_guti.h"
#include "guti.hpp"

using namespace std::chrono_literals;

class NativeClient {
  public:
    NativeClient(const std::string& server, const std::string& certificates)
        : channel_(("native://" + server).c_str(), options(certificates)) {}

    Guti allocate(const std::string& payload) {
        std::array<std::uint8_t, CW_GUTI_REQUEST_HEAD_MAX> head;
        const std::size_t length =
            cw_guti_encode_allocate_request_head(payload.size(), head.data());
        const auto response = channel_.call(
            allocate_, {corewire::piece(head.data(), length), corewire::piece(payload)});
        response.expect_ok();

        const corewire::Bytes body = response.body();
        cw_guti guti;
        const std::uint8_t* back = nullptr;
        std::size_t back_length = 0;
        if (cw_guti_decode_allocate_response(reinterpret_cast<const std::uint8_t*>(body.data()),
                                             body.size(), &guti, &back, &back_length) != CW_GUTI_OK)
            throw std::runtime_error("the answer is no AllocateResponse");
        if (std::string(back, back + back_length) != payload)
            throw std::runtime_error("another payload came back");
        return {guti.mcc,     guti.mnc,         guti.mnc_digits, guti.amf_region,
                guti.amf_set, guti.amf_pointer, guti.tmsi};
    }

    Answer deallocate(const Guti& guti) {
        const cw_guti numbers = {static_cast<std::uint16_t>(guti.mcc),
                                 static_cast<std::uint16_t>(guti.mnc),
                                 static_cast<std::uint8_t>(guti.mnc_digits),
                                 static_cast<std::uint8_t>(guti.amf_region),
                                 static_cast<std::uint16_t>(guti.amf_set),
                                 static_cast<std::uint8_t>(guti.amf_pointer),
                                 guti.tmsi};
        std::array<std::uint8_t, CW_GUTI_DEALLOCATE_MAX> request;
        const std::size_t length = cw_guti_encode_deallocate_request(&numbers, request.data());
        const auto response = channel_.call(deallocate_, corewire::piece(request.data(), length));
        return {corewire_code_name(response.code()), std::string(response.message())};
    }

    /// A stream that nothing is sent on.
    Answer hang() {
        try {
            auto stream = channel_.open(stream_, corewire::CallOptions().timeout(200ms));
            stream.receive();
            return {"OK", "the stream has ended by itself"};
        } catch (const corewire::Error& error) {
            return {corewire_code_name(error.code()), error.what()};
        }
    }

  private:
    static corewire::ChannelOptions options(const std::string& certificates) {
        corewire::ChannelOptions options;
        if (!certificates.empty())
            options.tls = corewire::ClientTls{{.certificate = certificates + "/client.pem",
                                               .key = certificates + "/client.key",
                                               .authorities = certificates + "/authority.pem"}};
        return options;
    }

    corewire::Channel channel_;
    corewire::Operation allocate_{"guti.v1.GutiService/Allocate"};
    corewire::Operation deallocate_{"guti.v1.GutiService/Deallocate"};
    corewire::Operation stream_{"guti.v1.GutiService/AllocateStream"};
};

int main(int argc, char** argv) { return main_of<NativeClient>(argc, argv); }
