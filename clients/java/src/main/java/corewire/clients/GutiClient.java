package corewire.clients;

import java.util.concurrent.CompletableFuture;

/** What both protocols offer. A call that fails ends its future with a {@link Failure}. */
interface GutiClient extends AutoCloseable {

    /** How the service answered when it did not do what it was asked. */
    final class Failure extends RuntimeException {
        private final String code;

        Failure(String code, String message) {
            super(code + ": " + message);
            this.code = code;
        }

        String code() {
            return code;
        }
    }

    CompletableFuture<Guti> allocate(byte[] payload);

    CompletableFuture<Void> deallocate(Guti guti);

    /** Begins a call that is never finished; only a deadline of so many milliseconds ends it. */
    CompletableFuture<?> hang(int milliseconds);

    @Override
    void close();
}
