// rmr-sender: sends messages through an RMR library, at a rate or as fast as it goes, and says what
// became of each send. The page for its options and its output is peers/README.md.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attendant.h"
#include "clock.h"
#include "histogram.h"
#include "library.h"
#include "options.h"
#include "stamp.h"

// A thread wakes late from a sleep: it is woken this much early and spins.
#define SPIN_NS (60 * NS_PER_US)
// After so many refusals in a row of one message the sender naps instead of yielding.
#define YIELDS 16
#define NAP_NS (20 * NS_PER_US)
// How much longer than planned what was due may take to leave, at least. What has not left then
// counts as unsent.
#define LATE_NS NS_PER_S
// A message that is refused this long is given up.
#define PATIENCE_NS (5 * NS_PER_S)

struct settings {
    const char *library_path;
    const char *mode;
    const char *nagle;
    long long port, size, threads, first_id, type, types, count, call_timeout_ms;
    double rate, duration, warm_up, ready_timeout;
    int check, attended;
};

enum mode { MODE_SEND, MODE_CALL, MODE_RTS };

// What became of the messages of one phase.
struct tally {
    uint64_t attempted;
    uint64_t ok;
    uint64_t retries;  // sends that were answered with RETRY
    uint64_t retried;  // messages that met at least one
    uint64_t failed[STATES];
    uint64_t lost_buffers;  // sends that gave no buffer back
    uint64_t unanswered;    // calls without an answer in time
};

struct worker {
    pthread_t thread;
    const struct settings *settings;
    enum mode mode;
    int number;
    const struct library *library;
    void *context;
    struct attendant *attendant;
    int64_t start_ns;    // of the warm-up
    int64_t measure_ns;  // of the window
    int64_t end_ns;
    struct tally warm_up, measured;
    uint64_t unsent;
    double lag_sum;
    int64_t lag_max;
    int64_t spun_ns;       // waiting for the time of a message, within the window
    int64_t last_sent_ns;  // end of the last send
    int64_t cpu_begin_ns;  // process time when this thread began to measure; 0: it did not
    struct histogram round_trips;
    uint32_t sequence;
};

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

// Waits for `due`; adds what it spun to the worker's account when `counts`.
static int64_t wait_for(struct worker *worker, int64_t due, int counts) {
    int64_t now = now_ns();
    while (due - now > SPIN_NS) {
        // Woken at least ten times a second, to look whether it is to end.
        sleep_until(due - SPIN_NS < now + 100 * NS_PER_MS ? due - SPIN_NS : now + 100 * NS_PER_MS);
        now = now_ns();
        if (atomic_load_explicit(&worker->attendant->asked_to_end, memory_order_relaxed))
            return now;
    }
    if (now >= due) return now;
    const int64_t begun = now;
    while (now < due) {
        spin_hint();
        now = now_ns();
    }
    if (counts) worker->spun_ns += now - begun;
    return now;
}

static rmr_mbuf_t *fresh(const struct worker *worker) {
    rmr_mbuf_t *message = worker->library->alloc_msg(worker->context, (int)worker->settings->size);
    if (message == NULL || message->payload == NULL) {
        fputs("rmr_alloc_msg gave no buffer\n", stderr);
        exit(1);
    }
    return message;
}

// Sends until it is accepted, refused for good, or given up. The buffer for the next message.
static rmr_mbuf_t *send_one(struct worker *worker, rmr_mbuf_t *message, struct tally *tally,
                            int64_t now) {
    unsigned refusals = 0;
    ++tally->attempted;
    for (;;) {
        message = worker->library->send_msg(worker->context, message);
        if (message == NULL) {
            ++tally->lost_buffers;
            return fresh(worker);
        }
        if (message->state == RMR_OK) {
            ++tally->ok;
            break;
        }
        if (message->state != RMR_ERR_RETRY) {
            const unsigned state = (unsigned)message->state;
            ++tally->failed[state < STATES ? state : STATES - 1];
            break;
        }
        ++tally->retries;
        ++refusals;
        if (refusals > YIELDS) {
            const int64_t begun = now_ns();
            if (begun - now > PATIENCE_NS || atomic_load(&worker->attendant->asked_to_end)) {
                ++tally->failed[RMR_ERR_RETRY];
                break;
            }
            sleep_until(begun + NAP_NS);
        } else {
            sched_yield();
        }
    }
    tally->retried += refusals > 0;
    return message;
}

// One message there and its answer back. The buffer for the next message.
static rmr_mbuf_t *call_one(struct worker *worker, rmr_mbuf_t *message, struct tally *tally,
                            int64_t due, int measured) {
    const int timeout = (int)worker->settings->call_timeout_ms;
    rmr_mbuf_t *answer = NULL;
    if (worker->mode == MODE_CALL) {
        ++tally->attempted;
        answer = worker->library->mt_call(worker->context, message, 2 + worker->number, timeout);
        if (answer == NULL) {
            ++tally->unanswered;
            return fresh(worker);
        }
        if (answer->state == RMR_ERR_RETRY) ++tally->retries;
    } else {
        const uint32_t wanted = stamp_read(message->payload).sequence;
        const uint64_t before = tally->ok;
        message = send_one(worker, message, tally, due);
        if (tally->ok == before) return message;
        --tally->ok;
        const int64_t deadline = now_ns() + timeout * NS_PER_MS;
        // An answer that comes after its time is not the one that is waited for.
        do {
            message = worker->library->torcv_msg(worker->context, message, timeout);
            if (message == NULL) message = fresh(worker);
        } while (message->state == RMR_OK && message->len >= STAMP_SIZE &&
                 stamp_read(message->payload).sequence != wanted && now_ns() < deadline);
        answer = message;
        if (answer->state == RMR_ERR_TIMEOUT) {
            ++tally->unanswered;
            return answer;
        }
    }
    if (answer->state == RMR_OK) {
        ++tally->ok;
        if (measured) histogram_record(&worker->round_trips, now_ns() - due);
    } else {
        const unsigned state = (unsigned)answer->state;
        ++tally->failed[state < STATES ? state : STATES - 1];
    }
    if (worker->mode == MODE_RTS) return answer;
    // The answer still names its sender as the source; not every library puts its own name there
    // when such a buffer is sent as the next call, and then the answer goes astray.
    worker->library->free_msg(answer);
    return fresh(worker);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    const struct settings *settings = worker->settings;
    const int paced = settings->rate > 0;
    const double interval = paced ? 1e9 * (double)settings->threads / settings->rate : 0;
    const double offset = paced ? interval * worker->number / (double)settings->threads : 0;
    const uint64_t most =
        settings->count > 0 ? (uint64_t)settings->count / (uint64_t)settings->threads : UINT64_MAX;
    const uint32_t size = (uint32_t)settings->size;
    rmr_mbuf_t *message = fresh(worker);
    uint64_t turn = 0;
    uint32_t spread = 0;

    sleep_until(worker->start_ns);
    // Where the machine let this thread wait, its time begins later, all of it.
    const int64_t woken_late = later(0, now_ns() - worker->start_ns);
    worker->start_ns += woken_late;
    worker->measure_ns += woken_late;
    worker->end_ns += woken_late;
    const int64_t window = worker->end_ns - worker->measure_ns;
    int64_t give_up = paced ? worker->end_ns + later(window, LATE_NS) : INT64_MAX;
    for (;; ++turn) {
        int64_t due = 0;
        int64_t now = 0;
        if (paced) {
            due = worker->start_ns + (int64_t)(offset + interval * (double)turn);
            if (due >= worker->end_ns) break;
            now = wait_for(worker, due, due >= worker->measure_ns);
        } else {
            due = now = now_ns();
        }
        if (!paced && give_up == INT64_MAX && now >= worker->measure_ns) {
            // Without a schedule the window begins with its first message.
            worker->measure_ns = now;
            give_up = now + window;
        }
        if (now >= give_up || worker->measured.attempted >= most ||
            atomic_load_explicit(&worker->attendant->asked_to_end, memory_order_relaxed)) {
            break;
        }
        const int measured = due >= worker->measure_ns;
        struct tally *tally = measured ? &worker->measured : &worker->warm_up;
        if (measured && worker->cpu_begin_ns == 0) worker->cpu_begin_ns = process_cpu_ns();
        const struct stamp stamp = {
            .sender = (uint8_t)(settings->first_id + worker->number),
            .phase = measured ? PHASE_MEASURED : PHASE_WARM_UP,
            .sequence = worker->sequence++,
            .due_ns = due,
            .lag_ns = now - due,
        };
        if (paced && measured) {
            worker->lag_sum += (double)(now - due);
            worker->lag_max = later(worker->lag_max, now - due);
        }
        // Neighbouring messages ask for entries of the table that lie far from each other.
        spread = (spread + 7919u) % (uint32_t)settings->types;
        message->mtype = (int)settings->type + (int)spread;
        message->sub_id = RMR_VOID_SUBID;
        message->len = (int)size;
        message->state = RMR_OK;
        stamp_write(message->payload, &stamp);
        if (settings->check) stamp_fill(message->payload, size, stamp.sequence);
        message = worker->mode == MODE_SEND ? send_one(worker, message, tally, now)
                                            : call_one(worker, message, tally, due, measured);
        // The answer to a large message may have a smaller buffer than the next message needs.
        if (worker->mode != MODE_SEND && worker->library->payload_size(message) < (int)size) {
            worker->library->free_msg(message);
            message = fresh(worker);
        }
    }
    worker->last_sent_ns = now_ns();
    if (paced && worker->measured.attempted < most) {
        const double due_in_all = ((double)(worker->end_ns - worker->start_ns) - offset) / interval;
        if (due_in_all > (double)turn) worker->unsent = (uint64_t)(due_in_all - (double)turn);
    }
    worker->library->free_msg(message);
    return NULL;
}

// Whether a first message was accepted: the table is read and the connection stands.
static int say_hello(const struct settings *settings, const struct library *library, void *context,
                     struct attendant *attendant) {
    const int64_t deadline = now_ns() + (int64_t)(settings->ready_timeout * 1e9);
    int state = RMR_ERR_UNSET;
    struct worker self = {.settings = settings, .library = library, .context = context};
    rmr_mbuf_t *message = fresh(&self);
    while (now_ns() < deadline && !atomic_load(&attendant->asked_to_end)) {
        if (library->ready(context)) {
            const struct stamp stamp = {.phase = PHASE_HELLO, .due_ns = now_ns()};
            message->mtype = (int)settings->type;
            message->sub_id = RMR_VOID_SUBID;
            message->len = (int)settings->size;
            stamp_write(message->payload, &stamp);
            message = library->send_msg(context, message);
            if (message == NULL) message = fresh(&self);
            state = message->state;
            if (state == RMR_OK) break;
        }
        sleep_until(now_ns() + 5 * NS_PER_MS);
    }
    library->free_msg(message);
    if (state != RMR_OK) {
        printf(
            "{\"event\":\"error\",\"what\":\"%s within %.0f s (%s)\",\"where\":\"first send\"}\n",
            library->ready(context) ? "no message was accepted" : "no route table was read",
            settings->ready_timeout, state_name(state));
    }
    return state == RMR_OK;
}

static void add(struct tally *into, const struct tally *from) {
    into->attempted += from->attempted;
    into->ok += from->ok;
    into->retries += from->retries;
    into->retried += from->retried;
    into->lost_buffers += from->lost_buffers;
    into->unanswered += from->unanswered;
    for (int state = 0; state < STATES; ++state) into->failed[state] += from->failed[state];
}

static void print_tally(const char *name, const struct tally *tally) {
    printf(
        "\"%s\":{\"attempted\":%llu,\"ok\":%llu,\"retries\":%llu,\"retried\":%llu,"
        "\"lost_buffers\":%llu,\"unanswered\":%llu,\"failed\":{",
        name, (unsigned long long)tally->attempted, (unsigned long long)tally->ok,
        (unsigned long long)tally->retries, (unsigned long long)tally->retried,
        (unsigned long long)tally->lost_buffers, (unsigned long long)tally->unanswered);
    const char *separator = "";
    for (int state = 0; state < STATES; ++state) {
        if (tally->failed[state] == 0) continue;
        printf("%s\"%s\":%llu", separator, state_name(state),
               (unsigned long long)tally->failed[state]);
        separator = ",";
    }
    fputs("}},", stdout);
}

static void print_result(const struct settings *settings, const struct worker *workers,
                         int64_t cpu_ns, int partial) {
    struct tally warm_up = {0}, measured = {0};
    struct histogram round_trips;
    histogram_init(&round_trips);
    uint64_t unsent = 0;
    double lag_sum = 0;
    int64_t lag_max = 0, spun_ns = 0, last_sent_ns = 0;
    for (int at = 0; at < settings->threads; ++at) {
        const struct worker *worker = &workers[at];
        add(&warm_up, &worker->warm_up);
        add(&measured, &worker->measured);
        histogram_merge(&round_trips, &worker->round_trips);
        unsent += worker->unsent;
        lag_sum += worker->lag_sum;
        lag_max = later(lag_max, worker->lag_max);
        spun_ns += worker->spun_ns;
        last_sent_ns = later(last_sent_ns, worker->last_sent_ns);
    }
    const double duration = (double)(last_sent_ns - workers[0].measure_ns) / 1e9;
    printf(
        "{\"event\":\"result\",\"protocol\":1,\"role\":\"sender\",\"mode\":\"%s\",\"partial\":%s,"
        "\"rate\":%.3f,\"size\":%lld,\"threads\":%lld,\"duration_s\":%.9f,",
        settings->mode, partial ? "true" : "false", settings->rate, settings->size,
        settings->threads, duration > 0 ? duration : 0.0);
    print_tally("warm_up", &warm_up);
    print_tally("measured", &measured);
    if (settings->rate > 0) {
        printf("\"lag_ns\":{\"mean\":%.3f,\"max\":%lld},\"unsent\":%llu,",
               measured.attempted ? lag_sum / (double)measured.attempted : 0.0, (long long)lag_max,
               (unsigned long long)unsent);
    }
    if (workers[0].mode != MODE_SEND) {
        histogram_print(&round_trips, stdout);
        fputc(',', stdout);
    }
    printf("\"cpu_ns\":%lld,\"spun_ns\":%lld}\n", (long long)cpu_ns, (long long)spun_ns);
    fflush(stdout);
    histogram_free(&round_trips);
}

static struct settings read_settings(int argc, char **argv) {
    struct settings settings = {
        .mode = "send",
        .nagle = "on",
        .size = 1000,
        .threads = 1,
        .type = 1000,
        .types = 1,
        .duration = 1,
        .warm_up = 0.3,
        .ready_timeout = 10,
        .call_timeout_ms = 1000,
    };
    const struct option_line lines[] = {
        {"library", OPTION_TEXT, &settings.library_path, 0, 0, "the RMR library to load (needed)"},
        {"port", OPTION_INT, &settings.port, 1, 65535, "port of this program's context (needed)"},
        {"mode", OPTION_TEXT, &settings.mode, 0, 0,
         "send: one way; call: rmr_mt_call; rts: send, then receive the answer [send]"},
        {"rate", OPTION_NUMBER, &settings.rate, 0, 0,
         "messages a second of all threads, each due at a fixed time; 0: as fast as it goes [0]"},
        {"size", OPTION_INT, &settings.size, STAMP_SIZE, 64000000, "payload in octets [1000]"},
        {"duration", OPTION_NUMBER, &settings.duration, 0, 0, "seconds measured [1]"},
        {"warm-up", OPTION_NUMBER, &settings.warm_up, 0, 0, "seconds sent before [0.3]"},
        {"count", OPTION_INT, &settings.count, 0, INT64_MAX,
         "messages measured, if fewer than the duration holds"},
        {"threads", OPTION_INT, &settings.threads, 1, 64, "threads that share the context [1]"},
        {"first-id", OPTION_INT, &settings.first_id, 0, STAMP_SENDERS - 1,
         "number of the first thread in the stamps [0]"},
        {"type", OPTION_INT, &settings.type, 100, 1 << 30, "first message type [1000]"},
        {"types", OPTION_INT, &settings.types, 1, 1 << 24,
         "message types from there on, in turns [1]"},
        {"nagle", OPTION_TEXT, &settings.nagle, 0, 0,
         "on, or off: rmr_set_low_latency before the first send [on]"},
        {"call-timeout-ms", OPTION_INT, &settings.call_timeout_ms, 1, 60000,
         "patience of call and rts [1000]"},
        {"ready-timeout", OPTION_NUMBER, &settings.ready_timeout, 0, 0,
         "seconds to wait for a table and a connection [10]"},
        {"check", OPTION_FLAG, &settings.check, 0, 0, "fill each payload with what can be checked"},
        {"attended", OPTION_FLAG, &settings.attended, 0, 0,
         "wait for `go` on standard input, and after the result stay until it ends"},
    };
    options_read(argc, argv, "sends messages through an RMR library and says what became of them",
                 lines, (int)(sizeof lines / sizeof lines[0]));
    if (settings.library_path == NULL) options_refuse("--library is needed");
    if (settings.port == 0) options_refuse("--port is needed");
    if (strcmp(settings.nagle, "on") != 0 && strcmp(settings.nagle, "off") != 0) {
        options_refuse("--nagle %s: on or off", settings.nagle);
    }
    if (settings.first_id + settings.threads > STAMP_SENDERS) {
        options_refuse("--first-id and --threads: stamps hold %d senders", STAMP_SENDERS);
    }
    return settings;
}

static enum mode read_mode(const struct settings *settings, const struct library *library) {
    if (strcmp(settings->mode, "send") == 0) return MODE_SEND;
    if (strcmp(settings->mode, "call") == 0) {
        if (library->mt_call == NULL) options_refuse("this library has no rmr_mt_call");
        return MODE_CALL;
    }
    if (strcmp(settings->mode, "rts") == 0) {
        // Answers carry no thread's name: a second thread would take those of the first.
        if (settings->threads > 1) options_refuse("--mode rts takes one thread");
        return MODE_RTS;
    }
    options_refuse("--mode %s: send, call or rts", settings->mode);
}

int main(int argc, char **argv) {
    const struct settings settings = read_settings(argc, argv);
    struct library library = {0};
    if (!library_open(&library, settings.library_path)) return 1;
    const enum mode mode = read_mode(&settings, &library);
    static struct attendant attendant;
    attendant_start(&attendant, settings.attended);
    void *context = library_context(&library, (int)settings.port, (int)settings.size);
    if (context == NULL) return 1;
    if (strcmp(settings.nagle, "off") == 0) {
        if (library.set_low_latency != NULL) {
            library.set_low_latency(context);
        } else {
            fputs("this library has no rmr_set_low_latency\n", stderr);
        }
    }
    if (!say_hello(&settings, &library, context, &attendant)) return 1;
    puts("{\"event\":\"connected\"}");
    fflush(stdout);

    while (settings.attended && !atomic_load(&attendant.asked_to_go) &&
           !atomic_load(&attendant.asked_to_end)) {
        sleep_until(now_ns() + NS_PER_MS);
    }

    struct worker *workers = calloc((size_t)settings.threads, sizeof *workers);
    if (workers == NULL) return 1;
    const int64_t start = now_ns() + 5 * NS_PER_MS;
    const int64_t measure = start + (int64_t)(settings.warm_up * 1e9);
    const int64_t end = measure + (int64_t)(settings.duration * 1e9);
    for (int at = 0; at < settings.threads; ++at) {
        workers[at] = (struct worker){
            .settings = &settings,
            .mode = mode,
            .number = at,
            .library = &library,
            .context = context,
            .attendant = &attendant,
            .start_ns = start,
            .measure_ns = measure,
            .end_ns = end,
        };
        histogram_init(&workers[at].round_trips);
        if (pthread_create(&workers[at].thread, NULL, work, &workers[at]) != 0) return 1;
    }
    // This thread sleeps while the others work.
    while (now_ns() < measure && !atomic_load(&attendant.asked_to_end)) {
        sleep_until(measure < now_ns() + 100 * NS_PER_MS ? measure : now_ns() + 100 * NS_PER_MS);
    }
    puts("{\"event\":\"measuring\"}");
    fflush(stdout);
    for (int at = 0; at < settings.threads; ++at) pthread_join(workers[at].thread, NULL);
    const int64_t cpu_end = process_cpu_ns();
    int64_t cpu_begin = cpu_end;
    for (int at = 0; at < settings.threads; ++at) {
        const int64_t begun = workers[at].cpu_begin_ns;
        if (begun != 0 && begun < cpu_begin) cpu_begin = begun;
    }
    const int64_t cpu = cpu_end - cpu_begin;
    // Whoever is attended and not told to end early has had its time.
    print_result(&settings, workers, cpu, atomic_load(&attendant.asked_to_end));

    // What the library still holds is written meanwhile; then it can say what it had to drop.
    while (settings.attended && !atomic_load(&attendant.asked_to_end)) {
        sleep_until(now_ns() + 5 * NS_PER_MS);
    }
    if (!settings.attended) sleep_until(now_ns() + 200 * NS_PER_MS);
    printf("{\"event\":\"closed\",\"tx_dropped\":");
    if (library.tx_dropped != NULL) {
        printf("%llu}\n", (unsigned long long)library.tx_dropped(context));
    } else {
        puts("null}");
    }
    fflush(stdout);
    library.close(context);
    for (int at = 0; at < settings.threads; ++at) histogram_free(&workers[at].round_trips);
    free(workers);
    return 0;
}
