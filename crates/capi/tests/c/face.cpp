// Uses every face of corewire.hpp from C++20.
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "check.h"
#include "corewire.hpp"

using namespace std::chrono_literals;
using corewire::as_text;
using corewire::piece;

namespace {

struct Service {
    std::atomic<int> events{0};
    std::atomic<int> streams{0};

    corewire::Handlers handlers() {
        corewire::Handlers handlers;
        handlers
            .on_call("test.Service/Echo",
                     [](corewire::Call call) {
                         const auto tag = call.request().headers().find("x-tag");
                         const corewire_header back =
                             corewire::header("x-tag-back", tag.value_or(""));
                         CHECK(call.reply({piece("<"), piece(call.body())},
                                          {&back, tag.has_value() ? 1U : 0U}));
                     })
            .on_call("test.Service/Throw",
                     [](corewire::Call call) {
                         throw std::runtime_error(std::string(call.request().peer()));
                     })
            .on_call("test.Service/Later",
                     [](corewire::Call call) {
                         std::thread([call = std::move(call)]() mutable {
                             std::this_thread::sleep_for(20ms);
                             call.reply("later");
                         }).detach();
                     })
            .on_call("",
                     [](corewire::Call call) {
                         CHECK(call.request().timeout() > 0us);
                         call.fail(COREWIRE_UNIMPLEMENTED, "nothing of that name");
                     })
            .on_event("test.Service/Notice", [this](corewire::Message event) {
                CHECK(as_text(event.body()) == "notice");
                ++events;
            });
        corewire::StreamHandler stream;
        stream.on_message = [](corewire::StreamView view, corewire::Bytes message) {
            CHECK(view.send({piece("<"), piece(message)}) == COREWIRE_OK);
        };
        stream.on_end = [this](corewire::ServerStream ended, corewire_code code) {
            CHECK(code == COREWIRE_OK);
            ++streams;
            CHECK(ended.finish());
        };
        handlers.on_stream("test.Service/Stream", std::move(stream));
        return handlers;
    }
};

template <typename Function>
corewire_code thrown_by(Function&& function) {
    try {
        function();
    } catch (const corewire::Error& error) {
        return error.code();
    }
    return COREWIRE_OK;
}

void calls_block(corewire::Channel& channel) {
    const corewire::Operation echo("test.Service/Echo");
    const std::string payload(100'000, 'p');
    const corewire::Response response = channel.call(echo, {piece("head "), piece(payload)});
    response.expect_ok();
    CHECK(as_text(response.body()) == "<head " + payload);
    CHECK(as_text(channel.call(echo, "text").body()) == "<text");
    CHECK(as_text(channel.call(echo).body()) == "<");
    CHECK(as_text(channel.call(corewire::Operation("test.Service/Later")).body()) == "later");

    const corewire_header tag = corewire::header("x-tag", "blue");
    const corewire::Response tagged =
        channel.call(echo, {}, corewire::CallOptions().headers({&tag, 1}).priority(1));
    CHECK(tagged.headers().find("x-tag-back") == "blue");
    int seen = 0;
    tagged.headers().for_each([&](std::string_view name, std::string_view value) {
        CHECK(name == "x-tag-back" && value == "blue");
        ++seen;
    });
    CHECK(seen == 1);
}

void failures_are_told(corewire::Channel& channel) {
    const corewire::Response refused = channel.call(corewire::Operation("test.Service/Nobody"));
    CHECK(refused.code() == COREWIRE_UNIMPLEMENTED);
    CHECK(refused.message() == "nothing of that name");
    CHECK(thrown_by([&] { refused.expect_ok(); }) == COREWIRE_UNIMPLEMENTED);
    CHECK(channel.call(corewire::Operation("test.Service/Throw")).code() == COREWIRE_INTERNAL);
    CHECK(thrown_by([&] {
              channel
                  .call(corewire::Operation("test.Service/Later"), {},
                        corewire::CallOptions().timeout(1us))
                  .expect_ok();
          }) == COREWIRE_DEADLINE_EXCEEDED);
    CHECK(thrown_by([] { corewire::Operation("/bad"); }) == COREWIRE_INVALID_ARGUMENT);
    try {
        corewire::Channel("native://127.0.0.1:1");
        CHECK(!"reached");
    } catch (const corewire::Error& error) {
        CHECK(error.kind() == COREWIRE_ERROR_NOT_SENT);
        CHECK(!error.may_have_executed());
    }
}

void streams_go_both_ways(corewire::Channel& channel, Service& service) {
    const corewire::Operation name("test.Service/Stream");
    corewire::Stream stream =
        channel.open(name, corewire::CallOptions().timeout(corewire::no_timeout));
    for (int i = 0; i < 100; ++i) {
        const std::string number = std::to_string(i);
        stream.send({piece("#"), piece(number)});
        CHECK(as_text(stream.receive().value()) == "<#" + number);
    }
    stream.finish();
    CHECK(!stream.receive().has_value());
    CHECK(service.streams == 1);
}

void calls_overlap(const std::string& endpoint) {
    const corewire::Operation echo("test.Service/Echo");
    corewire::Loop loop;
    corewire::AsyncChannel channel = loop.connect(endpoint.c_str());
    int small = 0;
    int large = 0;
    for (int i = 0; i < 50; ++i) {
        channel.call(echo, "async", [&small](corewire::Outcome outcome) {
            CHECK(as_text(outcome.response().body()) == "<async");
            ++small;
        });
        // More than a pointer's worth of captures.
        channel.call(echo, "async", corewire::CallOptions().timeout(10s),
                     [&large, expected = std::string("<async")](corewire::Outcome outcome) {
                         CHECK(as_text(outcome.response().body()) == expected);
                         ++large;
                     });
    }
    for (int i = 0; i < 1000 && small + large < 100; ++i) loop.run_once(100ms);
    CHECK(small == 50 && large == 50);

    corewire::AsyncChannel lost = loop.connect("native://127.0.0.1:1");
    bool failed = false;
    lost.call(echo, {}, [&failed](corewire::Outcome outcome) {
        CHECK(!outcome.answered());
        CHECK(thrown_by([&] { outcome.response(); }) == COREWIRE_UNAVAILABLE);
        failed = true;
    });
    for (int i = 0; i < 1000 && !failed; ++i) loop.run_once(100ms);
    CHECK(failed);

    std::thread stopper([&] {
        std::this_thread::sleep_for(20ms);
        loop.stop();
    });
    loop.run();
    stopper.join();
    CHECK(thrown_by([&] { loop.run_once(0us); }) == COREWIRE_CANCELLED);
}

}  // namespace

int main() {
    Service service;
    corewire::ServerOptions options;
    options.loops = 1;
    corewire::Server server({"127.0.0.1:0"}, service.handlers(), options);
    const std::string endpoint = "native://" + server.address();
    CHECK(server.address(1).empty());
    {
        corewire::Channel channel(endpoint.c_str());
        calls_block(channel);
        failures_are_told(channel);
        streams_go_both_ways(channel, service);
        channel.send_event(corewire::Operation("test.Service/Notice"), "notice");
        for (int i = 0; i < 6000 && service.events < 1; ++i) std::this_thread::sleep_for(5ms);
        CHECK(service.events == 1);
    }
    calls_overlap(endpoint);
    server.drain(2s);
    return 0;
}
