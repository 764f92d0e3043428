// rmr-receiver: receives what rmr-sender sends, through an RMR library, and says how long it took
// and what did not come. The page for its options and its output is peers/README.md.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attendant.h"
#include "clock.h"
#include "histogram.h"
#include "library.h"
#include "options.h"
#include "sequence.h"
#include "stamp.h"

// Between two looks at the process's CPU time, which cost a system call.
#define CPU_LOOK_NS (10 * NS_PER_MS)
// How long one receive waits, so that words from outside are heard.
#define WAIT_MS 20

struct settings {
    const char *library_path;
    long long port, size, silence_ms, delay_us;
    double idle;
    int answer, check, attended, since_sent;
};

struct account {
    uint64_t received;  // of any sender and phase but hello
    uint64_t hellos;
    uint64_t strangers;  // messages that no sender of ours wrote
    uint64_t corrupt;    // content is not what was sent
    uint64_t answers_failed;
    uint64_t measured;
    uint64_t measured_octets;
    int64_t first_ns, last_ns;      // arrival of measured messages
    int64_t heard_ns;               // of any message
    int64_t cpu_begin_ns, cpu_ns;   // process time at the first and at the last look
    int64_t cpu_looked_ns;          // when that last look was
    uint64_t cpu_messages;          // measured messages up to there
    struct histogram since_due;     // due -> application
    struct histogram since_sent;    // send call -> application
    struct histogram before_queue;  // send call -> transport
    struct sequence *senders[STAMP_SENDERS];
};

static struct sequence *sender(struct account *account, uint8_t number) {
    if (account->senders[number] == NULL) {
        account->senders[number] = calloc(1, sizeof(struct sequence));
        if (account->senders[number] == NULL) {
            fputs("no memory for another sender\n", stderr);
            exit(1);
        }
    }
    return account->senders[number];
}

static void look_at_cpu(struct account *account, int64_t now) {
    account->cpu_ns = process_cpu_ns();
    account->cpu_looked_ns = now;
    account->cpu_messages = account->measured;
}

static void note(struct account *account, const struct settings *settings,
                 const struct library *library, const rmr_mbuf_t *message, int64_t now) {
    // Types 1 to 99 are RMR's own. A transport without types tells none.
    if (message->len < STAMP_SIZE || (message->mtype > 0 && message->mtype < 100)) {
        ++account->strangers;
        return;
    }
    const struct stamp stamp = stamp_read(message->payload);
    account->heard_ns = now;
    if (stamp.phase == PHASE_HELLO) {
        ++account->hellos;
        return;
    }
    if (settings->check &&
        !stamp_is_filled(message->payload, (uint32_t)message->len, stamp.sequence)) {
        ++account->corrupt;
    }
    ++account->received;
    if (!sequence_note(sender(account, stamp.sender), stamp.sequence)) return;
    if (stamp.phase != PHASE_MEASURED) return;
    if (account->measured == 0) {
        account->first_ns = now;
        account->cpu_begin_ns = process_cpu_ns();
        account->cpu_ns = account->cpu_begin_ns;
        account->cpu_looked_ns = now;
    }
    account->last_ns = now;
    ++account->measured;
    account->measured_octets += (uint64_t)message->len;
    histogram_record(&account->since_due, now - stamp.due_ns);
    if (settings->since_sent) {
        histogram_record(&account->since_sent, now - stamp.due_ns - stamp.lag_ns);
    }
    if (library->rx_time_ns != NULL) {
        const int64_t taken = (int64_t)library->rx_time_ns(message);
        if (taken > 0) {
            histogram_record(&account->before_queue, taken - stamp.due_ns - stamp.lag_ns);
        }
    }
    if (now - account->cpu_looked_ns >= CPU_LOOK_NS) look_at_cpu(account, now);
}

static void receive(struct account *account, const struct settings *settings,
                    const struct library *library, void *context, struct attendant *attendant) {
    const int64_t silence = settings->silence_ms * NS_PER_MS;
    rmr_mbuf_t *message = NULL;
    int64_t asked_ns = 0;
    for (;;) {
        message = library->torcv_msg(context, message, WAIT_MS);
        const int64_t now = now_ns();
        const int came = message != NULL && message->state == RMR_OK;
        if (came) {
            note(account, settings, library, message, now);
            if (settings->answer) {
                message = library->rts_msg(context, message);
                if (message == NULL || message->state != RMR_OK) ++account->answers_failed;
            }
            if (settings->delay_us > 0) {
                const int64_t until = now + settings->delay_us * NS_PER_US;
                while (now_ns() < until) {
                }
            }
            if ((int64_t)account->received >=
                atomic_load_explicit(&attendant->expected, memory_order_relaxed)) {
                break;
            }
            continue;
        }
        const int64_t heard = account->heard_ns;
        if (!settings->attended && heard != 0 && now - heard > (int64_t)(settings->idle * 1e9)) {
            break;
        }
        if (atomic_load(&attendant->asked_to_end) || atomic_load(&attendant->asked_to_finish)) {
            if (asked_ns == 0) asked_ns = now;
            const int64_t since = heard > asked_ns ? heard : asked_ns;
            if (now - since >= silence ||
                (int64_t)account->received >= atomic_load(&attendant->expected)) {
                break;
            }
        }
    }
    if (message != NULL) library->free_msg(message);
}

static void print_result(const struct account *account, const struct library *library,
                         void *context) {
    uint64_t delivered = 0, duplicates = 0, out_of_order = 0, missing = 0, senders = 0;
    for (int at = 0; at < STAMP_SENDERS; ++at) {
        const struct sequence *one = account->senders[at];
        if (one == NULL) continue;
        ++senders;
        delivered += one->delivered;
        duplicates += one->duplicates;
        out_of_order += one->out_of_order;
        missing += sequence_missing(one);
    }
    printf(
        "{\"event\":\"result\",\"protocol\":1,\"role\":\"receiver\",\"delivered\":%llu,"
        "\"delivered_in_all\":%llu,\"octets\":%llu,\"senders\":%llu,\"duplicates\":%llu,"
        "\"out_of_order\":%llu,\"missing\":%llu,\"corrupt\":%llu,\"strangers\":%llu,"
        "\"answers_failed\":%llu,\"first_ns\":%lld,\"last_ns\":%lld,",
        (unsigned long long)account->measured, (unsigned long long)delivered,
        (unsigned long long)account->measured_octets, (unsigned long long)senders,
        (unsigned long long)duplicates, (unsigned long long)out_of_order,
        (unsigned long long)missing, (unsigned long long)account->corrupt,
        (unsigned long long)account->strangers, (unsigned long long)account->answers_failed,
        (long long)account->first_ns, (long long)account->last_ns);
    printf("\"cpu_ns\":%lld,\"cpu_messages\":%llu,\"cpu_window_ns\":%lld,",
           (long long)(account->cpu_ns - account->cpu_begin_ns),
           (unsigned long long)account->cpu_messages,
           (long long)(account->cpu_looked_ns - account->first_ns));
    rmr_rx_debug_t counters = {0, 0};
    if (library->get_rx_debug_info != NULL && library->get_rx_debug_info(context, &counters) == 0) {
        printf("\"rx_dropped\":%llu,", (unsigned long long)counters.drop);
    } else {
        fputs("\"rx_dropped\":null,", stdout);
    }
    histogram_print(&account->since_due, stdout);
    if (account->since_sent.count > 0) {
        fputs(",\"since_sent\":{", stdout);
        histogram_print(&account->since_sent, stdout);
        fputc('}', stdout);
    }
    if (account->before_queue.count > 0) {
        fputs(",\"before_queue\":{", stdout);
        histogram_print(&account->before_queue, stdout);
        fputc('}', stdout);
    }
    puts("}");
    fflush(stdout);
}

static struct settings read_settings(int argc, char **argv) {
    struct settings settings = {.size = 1000, .silence_ms = 500, .idle = 2};
    const struct option_line lines[] = {
        {"library", OPTION_TEXT, &settings.library_path, 0, 0, "the RMR library to load (needed)"},
        {"port", OPTION_INT, &settings.port, 1, 65535, "port to listen on (needed)"},
        {"size", OPTION_INT, &settings.size, STAMP_SIZE, 64000000,
         "usual payload in octets, for rmr_init [1000]"},
        {"answer", OPTION_FLAG, &settings.answer, 0, 0, "return each message to its sender"},
        {"check", OPTION_FLAG, &settings.check, 0, 0,
         "compare each payload with what --check sent"},
        {"since-sent", OPTION_FLAG, &settings.since_sent, 0, 0,
         "count latency from the send call too, not only from when a message was due"},
        {"delay-us", OPTION_INT, &settings.delay_us, 0, 10000000,
         "work this long on each message: a slow receiver [0]"},
        {"idle", OPTION_NUMBER, &settings.idle, 0, 0,
         "end after so many seconds without a message, once there was one [2]"},
        {"silence-ms", OPTION_INT, &settings.silence_ms, 1, 600000,
         "once told to finish, end after so long without a message [500]"},
        {"attended", OPTION_FLAG, &settings.attended, 0, 0,
         "do not end by itself; `finish` on standard input ends after the silence, `finish N` as "
         "soon as N messages came"},
    };
    options_read(argc, argv, "receives from rmr-sender through an RMR library and counts", lines,
                 (int)(sizeof lines / sizeof lines[0]));
    if (settings.library_path == NULL) options_refuse("--library is needed");
    if (settings.port == 0) options_refuse("--port is needed");
    return settings;
}

int main(int argc, char **argv) {
    const struct settings settings = read_settings(argc, argv);
    struct library library = {0};
    if (!library_open(&library, settings.library_path)) return 1;
    if (settings.answer && library.rts_msg == NULL) {
        options_refuse("this library has no rmr_rts_msg");
    }
    static struct attendant attendant;
    attendant_start(&attendant, settings.attended);
    void *context = library_context(&library, (int)settings.port, (int)settings.size);
    if (context == NULL) return 1;
    printf("{\"event\":\"ready\",\"protocol\":1,\"address\":\"%lld\",\"queue_time\":%s}\n",
           settings.port, library.rx_time_ns != NULL ? "true" : "false");
    fflush(stdout);

    static struct account account;
    histogram_init(&account.since_due);
    histogram_init(&account.since_sent);
    histogram_init(&account.before_queue);
    receive(&account, &settings, &library, context, &attendant);
    print_result(&account, &library, context);
    library.close(context);
    histogram_free(&account.since_due);
    histogram_free(&account.since_sent);
    histogram_free(&account.before_queue);
    for (int at = 0; at < STAMP_SENDERS; ++at) free(account.senders[at]);
    return 0;
}
