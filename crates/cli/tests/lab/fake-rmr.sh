#!/bin/sh
# An RMR program that misbehaves as its library's name says. It measures nothing: it is here for what
# a healthy program never does. Its own name decides which of the programs it is.
role=${0##*/rmr-}
while [ $# -gt 0 ]; do
    case $1 in
    --library) case=${2##*/lib}; case=${case%.so} ;;
    esac
    shift
done
# So that a test can see whether it was left behind.
echo $$ >>"${0%/*}/pids"

latency='"latency_ns":{"min":10000,"max":20000,"mean":15000,"stddev":5000}'
tally='"attempted":2,"ok":2,"retries":0,"retried":0,"lost_buffers":0,"unanswered":0,"failed":{}'

if [ "$role" = receiver ]; then
    if [ "$case" = cannot-listen ]; then
        echo "1795 22/RMR [CRIT] no such transport" >&2
        exit 1
    fi
    echo "a library says hello on standard output"
    echo '{"event":"ready","queue_time":false}'
    delivered=2
    [ "$case" = loses ] && delivered=1
    while read -r word _; do
        [ "$case" = receiver-dies ] && { echo "out of memory" >&2; exit 3; }
        [ "$word" = finish ] && break
    done
    echo "{\"event\":\"result\",\"role\":\"receiver\",\"delivered\":$delivered," \
        "\"delivered_in_all\":$((delivered + 2)),\"octets\":200,\"duplicates\":0,\"out_of_order\":0," \
        "\"missing\":0,\"corrupt\":0,\"strangers\":0,\"answers_failed\":0,\"first_ns\":0," \
        "\"last_ns\":100000000,\"cpu_ns\":1000,\"cpu_messages\":2,\"cpu_window_ns\":100000000," \
        "\"rx_dropped\":null,$latency,\"hdr\":[[10000,$delivered]]}"
    exit 0
fi

echo '{"event":"connected"}'
read -r _ || exit 0
result() {
    echo "{\"event\":\"result\",\"role\":\"sender\",\"partial\":$1,\"duration_s\":0.1," \
        "\"warm_up\":{$tally},\"measured\":{$tally},\"cpu_ns\":1000,\"spun_ns\":0}"
}
case $case in
sender-dies)
    echo "segmentation fault, say" >&2
    kill -SEGV $$
    ;;
rubbish) echo '{"event":"result","role":"sender","measured":"many"}' ;;
hangs) sleep 60 ;;
slow)
    trap 'result true; interrupted=1' INT
    touch "${0%/*}/measuring"
    # Long enough to be stopped, unless a test wants it to end.
    if [ -e "${0%/*}/fast" ]; then
        result false
    else
        for _ in $(seq 300); do [ -n "$interrupted" ] || sleep 0.1; done
    fi
    ;;
*) result false ;;
esac
# Until the lab has what it wants.
while read -r _; do :; done
echo '{"event":"closed","tx_dropped":0}'
