#!/bin/sh
# A program under test that misbehaves as its adapter's name says. It measures nothing: it is here
# for what a healthy program never does. Its name decides whether it is the server or the client.
role=${0##*corewire-peer-}
adapter=
while [ $# -gt 0 ]; do
    case $1 in
    --list) list=1 ;;
    --adapter) adapter=$2 ;;
    esac
    shift
done

if [ -n "$list" ]; then
    for name in GOOD CLIENT-DIES SERVER-DIES RUBBISH HANGS CHATTERS PORT-IN-USE NO-SERVER; do
        echo "{\"adapter\":\"$name\",\"built\":true,\"needs\":\"\"}"
    done
    echo '{"adapter":"ABSENT","built":false,"needs":"libabsent-dev"}'
    exit 0
fi

# So that a test can see whether it was left behind.
echo $$ >>"${0%/*}/pids"

result() {
    zeros=$(printf ',0%.0s' $(seq 399))
    echo "{\"event\":\"result\",\"partial\":$1,\"requests\":2,\"errors\":0,\"duration_s\":0.1," \
        "\"connections\":1,\"request_bytes_total\":0,\"latency_ns\":{\"min\":10000,\"max\":20000," \
        "\"mean\":15000,\"stddev\":5000},\"histogram_50us\":[2$zeros],\"hdr\":[[10000,1],[20000,1]]," \
        "\"server_cpu_ns\":1000,\"client_cpu_ns\":1000,\"server_threads\":1}"
    exit 0
}

if [ "$role" = server ]; then
    case $adapter in
    NO-SERVER) echo "no such library" >&2; exit 4 ;;
    CHATTERS) while :; do echo "not to the point"; sleep 0.01; done ;;
    PORT-IN-USE) echo '{"event":"error","what":"Address already in use","where":"listen"}'; exit 1 ;;
    esac
    echo "a library says hello on standard output"
    echo '{"event":"ready","address":"127.0.0.1:9","pid":1,"versions":{"fake":"1"}}'
    if [ $adapter = SERVER-DIES ]; then
        # While the client measures, which whoever started both has seen by then.
        until [ -e "${0%/*}/client-measures" ]; do sleep 0.1; done
        sleep 3
        echo "out of memory" >&2
        exit 3
    fi
    while read -r _; do :; done
    exit 0
fi

echo '{"event":"connected"}'
echo '{"event":"measuring"}'
case $adapter in
GOOD)
    trap 'result true' INT
    touch "${0%/*}/measuring"
    # Long enough to be stopped, when a test wants to.
    if [ -e "${0%/*}/slow" ]; then
        for _ in $(seq 300); do sleep 0.1; done
    fi
    result false
    ;;
SERVER-DIES) touch "${0%/*}/client-measures"; sleep 60 ;;
CLIENT-DIES) echo "segmentation fault, say" >&2; kill -SEGV $$ ;;
RUBBISH) echo '{"event":"result","requests":"many"}' ;;
*) sleep 60 ;;
esac
