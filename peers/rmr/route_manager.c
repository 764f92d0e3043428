// rmr-route-manager: sends route tables to a running RMR process as a route manager does, at a
// rate, and waits for the answer to each. The page for its output is peers/README.md.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attendant.h"
#include "clock.h"
#include "histogram.h"
#include "library.h"
#include "options.h"

// Message types of the control port, as the route manager's protocol has them.
#define TABLE_DATA 20
#define TABLE_STATE 22
// What receivers of any age take in one message.
#define LARGEST_MESSAGE 4096

struct settings {
    const char *library_path;
    const char *target;
    const char *receivers;
    long long port, type, entries, live, answer_ms;
    double per_second, ready_timeout;
    int attended;
};

struct manager {
    const struct settings *settings;
    const struct library *library;
    struct attendant *attendant;
    void *context;
    rmr_whid_t wormhole;
    rmr_mbuf_t *message;  // being filled
    int used;
    uint64_t sent, refused, accepted, rejected, unanswered;
    struct histogram answers;  // first message of a table -> its answer
    char reason[128];          // of the last rejection
};

static rmr_mbuf_t *fresh(struct manager *manager) {
    rmr_mbuf_t *message = manager->library->alloc_msg(manager->context, LARGEST_MESSAGE);
    if (message == NULL) {
        fputs("rmr_alloc_msg gave no buffer\n", stderr);
        exit(1);
    }
    return message;
}

// Whether what is in the buffer went away.
static int flush(struct manager *manager) {
    if (manager->used == 0) return 1;
    const int64_t deadline = now_ns() + 2 * NS_PER_S;
    int state = RMR_ERR_RETRY;
    do {
        manager->message->mtype = TABLE_DATA;
        manager->message->sub_id = RMR_VOID_SUBID;
        manager->message->len = manager->used;
        manager->message =
            manager->library->wh_send_msg(manager->context, manager->wormhole, manager->message);
        if (manager->message == NULL) manager->message = fresh(manager);
        state = manager->message->state;
        if (state == RMR_ERR_RETRY) sleep_until(now_ns() + 100 * NS_PER_US);
    } while (state == RMR_ERR_RETRY && now_ns() < deadline &&
             !atomic_load(&manager->attendant->asked_to_end));
    manager->used = 0;
    return state == RMR_OK;
}

// Puts a record into the buffer. Records are never divided between messages.
static int put(struct manager *manager, const char *record, int length) {
    if (manager->used + length > LARGEST_MESSAGE && !flush(manager)) return 0;
    memcpy(manager->message->payload + manager->used, record, (size_t)length);
    manager->used += length;
    return 1;
}

// The entries that traffic uses are in every table; the others come and go with every second one,
// so that each table differs from the one before.
static int send_table(struct manager *manager, uint64_t number) {
    const struct settings *settings = manager->settings;
    char record[1024];
    int length =
        snprintf(record, sizeof record, "newrt | start | swap-%llu\n", (unsigned long long)number);
    int sent = put(manager, record, length);
    for (long long entry = 0; sent && entry < settings->entries; ++entry) {
        const long long moved = entry >= settings->live && number % 2 == 1 ? settings->entries : 0;
        length = snprintf(record, sizeof record, "mse | %lld | -1 | %s\n",
                          settings->type + entry + moved, settings->receivers);
        sent = put(manager, record, length);
    }
    if (!sent) return 0;
    length = snprintf(record, sizeof record, "newrt | end | %lld\n", settings->entries);
    return put(manager, record, length) && flush(manager);
}

static void await_answer(struct manager *manager, int64_t begun) {
    const int64_t deadline = now_ns() + manager->settings->answer_ms * NS_PER_MS;
    rmr_mbuf_t *message = NULL;
    int answered = 0;
    while (!answered && now_ns() < deadline && !atomic_load(&manager->attendant->asked_to_end)) {
        message = manager->library->torcv_msg(manager->context, message, 20);
        if (message == NULL || message->state != RMR_OK || message->mtype != TABLE_STATE) continue;
        answered = 1;
        const int length = message->len < 120 ? message->len : 120;
        if (length >= 2 && memcmp(message->payload, "OK", 2) == 0) {
            ++manager->accepted;
            histogram_record(&manager->answers, now_ns() - begun);
        } else {
            ++manager->rejected;
            snprintf(manager->reason, sizeof manager->reason, "%.*s", length,
                     (const char *)message->payload);
        }
    }
    if (message != NULL) manager->library->free_msg(message);
    manager->unanswered += !answered;
}

// One table there and its answer back; whether it could be sent.
static int swap(struct manager *manager, uint64_t number) {
    const int64_t begun = now_ns();
    if (!send_table(manager, number)) {
        ++manager->refused;
        return 0;
    }
    ++manager->sent;
    await_answer(manager, begun);
    return 1;
}

// Opens the wormhole; whether the target could be reached in time.
static int reach(struct manager *manager) {
    const int64_t deadline = now_ns() + (int64_t)(manager->settings->ready_timeout * 1e9);
    while (now_ns() < deadline && !atomic_load(&manager->attendant->asked_to_end)) {
        manager->wormhole = manager->library->wh_open(manager->context, manager->settings->target);
        if (RMR_WH_CONNECTED(manager->wormhole)) return 1;
        sleep_until(now_ns() + 20 * NS_PER_MS);
    }
    return 0;
}

static struct settings read_settings(int argc, char **argv) {
    struct settings settings = {
        .type = 1000,
        .entries = 100,
        .per_second = 10,
        .answer_ms = 2000,
        .ready_timeout = 10,
    };
    const struct option_line lines[] = {
        {"library", OPTION_TEXT, &settings.library_path, 0, 0, "the RMR library to load (needed)"},
        {"port", OPTION_INT, &settings.port, 1, 65535, "port of this program's context (needed)"},
        {"target", OPTION_TEXT, &settings.target, 0, 0,
         "host:port of the control port of the process whose table is swapped (needed)"},
        {"receivers", OPTION_TEXT, &settings.receivers, 0, 0,
         "endpoints of every entry: host:port,host:port (needed)"},
        {"type", OPTION_INT, &settings.type, 100, 1 << 29,
         "message type of the first entry [1000]"},
        {"entries", OPTION_INT, &settings.entries, 1, 1 << 22, "entries of each table [100]"},
        {"live", OPTION_INT, &settings.live, 0, 1 << 22,
         "the first so many are in every table, the others move with each [all]"},
        {"per-second", OPTION_NUMBER, &settings.per_second, 0, 0,
         "tables a second; 0 sends one and ends [10]"},
        {"answer-ms", OPTION_INT, &settings.answer_ms, 1, 60000, "patience for an answer [2000]"},
        {"ready-timeout", OPTION_NUMBER, &settings.ready_timeout, 0, 0,
         "seconds to wait for the control port [10]"},
        {"attended", OPTION_FLAG, &settings.attended, 0, 0, "end when standard input ends"},
    };
    options_read(argc, argv, "sends route tables to a running RMR process, as a route manager does",
                 lines, (int)(sizeof lines / sizeof lines[0]));
    if (settings.library_path == NULL) options_refuse("--library is needed");
    if (settings.port == 0) options_refuse("--port is needed");
    if (settings.target == NULL) options_refuse("--target is needed");
    if (settings.receivers == NULL || strlen(settings.receivers) > 900) {
        options_refuse("--receivers is needed, of at most 900 letters");
    }
    if (settings.live == 0 || settings.live > settings.entries) settings.live = settings.entries;
    return settings;
}

int main(int argc, char **argv) {
    const struct settings settings = read_settings(argc, argv);
    struct library library = {0};
    if (!library_open(&library, settings.library_path)) return 1;
    if (library.wh_open == NULL || library.wh_send_msg == NULL) {
        options_refuse("this library has no wormholes");
    }
    static struct attendant attendant;
    attendant_start(&attendant, settings.attended);
    struct manager manager = {
        .settings = &settings,
        .library = &library,
        .attendant = &attendant,
    };
    manager.context = library_context(&library, (int)settings.port, LARGEST_MESSAGE);
    if (manager.context == NULL) return 1;
    histogram_init(&manager.answers);
    manager.message = fresh(&manager);
    if (!reach(&manager)) {
        printf(
            "{\"event\":\"error\",\"what\":\"%s was not reached within %.0f s\","
            "\"where\":\"control port\"}\n",
            settings.target, settings.ready_timeout);
        return 1;
    }
    // The first one before it is said to be ready: from here on swapping works, or does not.
    const int64_t start = now_ns();
    swap(&manager, 0);
    puts("{\"event\":\"connected\"}");
    fflush(stdout);
    for (uint64_t number = 1; settings.per_second > 0 && !atomic_load(&attendant.asked_to_end);
         ++number) {
        const int64_t due = start + (int64_t)(1e9 / settings.per_second * (double)number);
        while (now_ns() < due && !atomic_load(&attendant.asked_to_end)) {
            sleep_until(due < now_ns() + 50 * NS_PER_MS ? due : now_ns() + 50 * NS_PER_MS);
        }
        if (!atomic_load(&attendant.asked_to_end)) swap(&manager, number);
    }
    printf(
        "{\"event\":\"result\",\"protocol\":1,\"role\":\"route-manager\",\"sent\":%llu,"
        "\"refused\":%llu,\"accepted\":%llu,\"rejected\":%llu,\"unanswered\":%llu,"
        "\"duration_s\":%.6f,\"reason\":\"",
        (unsigned long long)manager.sent, (unsigned long long)manager.refused,
        (unsigned long long)manager.accepted, (unsigned long long)manager.rejected,
        (unsigned long long)manager.unanswered, (double)(now_ns() - start) / 1e9);
    for (const char *letter = manager.reason; *letter != '\0'; ++letter) {
        putchar(*letter < ' ' || *letter == '"' || *letter == '\\' ? '\'' : *letter);
    }
    fputs("\",", stdout);
    histogram_print(&manager.answers, stdout);
    puts("}");
    fflush(stdout);
    library.free_msg(manager.message);
    library.close(manager.context);
    histogram_free(&manager.answers);
    return manager.rejected + manager.unanswered + manager.refused > 0;
}
