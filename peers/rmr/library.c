#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int resolve(void *handle, const char *name, void *function, int needed) {
    void *symbol = dlsym(handle, name);
    // A function pointer and a data pointer are of one size here, as POSIX demands for dlsym.
    memcpy(function, &symbol, sizeof symbol);
    if (symbol == NULL && needed) fprintf(stderr, "it has no function %s\n", name);
    return symbol != NULL || !needed;
}

int library_open(struct library *library, const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        fprintf(stderr, "cannot load the RMR library: %s\n", dlerror());
        return 0;
    }
    const struct {
        const char *name;
        void *function;
        int needed;
    } wanted[] = {
        {"rmr_init", &library->init, 1},
        {"rmr_ready", &library->ready, 1},
        {"rmr_close", &library->close, 1},
        {"rmr_alloc_msg", &library->alloc_msg, 1},
        {"rmr_free_msg", &library->free_msg, 1},
        {"rmr_payload_size", &library->payload_size, 1},
        {"rmr_send_msg", &library->send_msg, 1},
        {"rmr_torcv_msg", &library->torcv_msg, 1},
        {"rmr_rts_msg", &library->rts_msg, 0},
        {"rmr_mt_call", &library->mt_call, 0},
        {"rmr_wh_open", &library->wh_open, 0},
        {"rmr_wh_send_msg", &library->wh_send_msg, 0},
        {"rmr_set_low_latency", &library->set_low_latency, 0},
        {"rmr_get_rx_debug_info", &library->get_rx_debug_info, 0},
        {"rmr_rx_time_ns", &library->rx_time_ns, 0},
        {"rmr_tx_dropped", &library->tx_dropped, 0},
    };
    int complete = 1;
    for (unsigned at = 0; at < sizeof wanted / sizeof wanted[0]; ++at) {
        complete &= resolve(handle, wanted[at].name, wanted[at].function, wanted[at].needed);
    }
    if (!complete) fprintf(stderr, "%s is not an RMR library\n", path);
    return complete;
}

void *library_context(const struct library *library, int port, int size) {
    char text[16];
    snprintf(text, sizeof text, "%d", port);
    void *context = library->init(text, size, RMRFL_NONE);
    if (context == NULL) {
        fprintf(stderr, "rmr_init on port %d failed: %s\n", port, strerror(errno));
    }
    return context;
}

const char *state_name(int state) {
    static const char *const names[] = {
        "OK",         "BADARG",   "NOENDPT", "EMPTY",      "NOHDR",   "SENDFAILED",
        "CALLFAILED", "NOWHOPEN", "WHID",    "OVERFLOW",   "RETRY",   "RCVFAILED",
        "TIMEOUT",    "UNSET",    "TRUNC",   "INITFAILED", "NOTSUPP",
    };
    const int known = (int)(sizeof names / sizeof names[0]);
    return state >= 0 && state < known ? names[state] : "UNKNOWN";
}
