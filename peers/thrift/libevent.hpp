// Owners of libevent's objects.
#pragma once

#include <event2/event.h>
#include <event2/http.h>

#include <memory>

namespace peers::thrift_adapters {

struct FreeLibevent {
    void operator()(event_base* base) const noexcept { event_base_free(base); }
    void operator()(event* event) const noexcept { event_free(event); }
    void operator()(evhttp* http) const noexcept { evhttp_free(http); }
};

using EventBase = std::unique_ptr<event_base, FreeLibevent>;
using Event = std::unique_ptr<event, FreeLibevent>;
using Http = std::unique_ptr<evhttp, FreeLibevent>;

}  // namespace peers::thrift_adapters
