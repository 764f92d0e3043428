#include "attendant.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct attendant *listening;

static void on_signal(int number) {
    (void)number;
    atomic_store(&listening->asked_to_end, 1);
}

static void *read_input(void *argument) {
    struct attendant *attendant = argument;
    char line[128];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "go", 2) == 0) {
            atomic_store(&attendant->asked_to_go, 1);
        } else if (strncmp(line, "finish", 6) == 0) {
            char *end = NULL;
            const long long expected = strtoll(line + 6, &end, 10);
            if (end != line + 6) atomic_store(&attendant->expected, expected);
            atomic_store(&attendant->asked_to_finish, 1);
        }
    }
    atomic_store(&attendant->asked_to_end, 1);
    return NULL;
}

void attendant_start(struct attendant *attendant, int reads_input) {
    atomic_init(&attendant->asked_to_end, 0);
    atomic_init(&attendant->asked_to_go, 0);
    atomic_init(&attendant->asked_to_finish, 0);
    atomic_init(&attendant->expected, INT64_MAX);
    listening = attendant;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    pthread_t thread;
    if (reads_input && pthread_create(&thread, NULL, read_input, attendant) == 0) {
        pthread_detach(thread);
    }
}
