package corewire.clients;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** JSON over HTTP/2, with java.net.http. */
final class RestClient implements GutiClient {
    private static final Gson JSON = new Gson();
    /** The codes of the causes that problem documents (RFC 9457) have here. */
    private static final Map<String, String> CODES =
            Map.of("NOT_FOUND", "NOT_FOUND", "TIMED_OUT_REQUEST", "DEADLINE_EXCEEDED");

    private final HttpClient client;
    private final String service;
    /** Done when the call that goes alone is; null when the next call is to go alone. */
    private final AtomicReference<CompletableFuture<Void>> first = new AtomicReference<>();

    RestClient(String server, Path certificates) throws IOException, GeneralSecurityException {
        client =
                HttpClient.newBuilder()
                        .version(HttpClient.Version.HTTP_2)
                        .sslContext(Certificates.mutualTls(certificates))
                        .build();
        service = "https://" + server + "/guti.v1.GutiService/";
    }

    private record AllocateRequest(String payload) {}

    private record AllocateResponse(Guti guti, String payload) {}

    private record DeallocateRequest(Guti guti) {}

    private record Problem(String detail, String cause) {}

    @Override
    public CompletableFuture<Guti> allocate(byte[] payload) {
        var request = new AllocateRequest(Base64.getEncoder().encodeToString(payload));
        return post("Allocate", json(request), 10_000)
                .thenApply(
                        text -> {
                            var response = JSON.fromJson(text, AllocateResponse.class);
                            if (!response.payload().equals(request.payload())) {
                                throw new IllegalStateException("another payload came back");
                            }
                            return response.guti();
                        });
    }

    @Override
    public CompletableFuture<Void> deallocate(Guti guti) {
        return post("Deallocate", json(new DeallocateRequest(guti)), 10_000)
                .thenAccept(text -> JSON.fromJson(text, JsonObject.class));
    }

    /**
     * A request whose body begins when the deadline has passed. The answer is there before, but
     * HttpClient looks at it only after it has sent its body. Later versions of Java
     * do so after the reset (NO_ERROR) that follows it, too: JDK-8293786.
     */
    @Override
    public CompletableFuture<?> hang(int milliseconds) {
        var later = CompletableFuture.delayedExecutor(2L * milliseconds, TimeUnit.MILLISECONDS);
        return post(
                "Allocate",
                BodyPublishers.fromPublisher(
                        reader -> later.execute(() -> BodyPublishers.ofString("{}").subscribe(reader))),
                milliseconds);
    }

    private static BodyPublisher json(Object message) {
        return BodyPublishers.ofString(JSON.toJson(message));
    }

    /** The server is told how long it may take (TS 29.500 clause 6.11.2) and has the first word. */
    private CompletableFuture<String> post(String method, BodyPublisher body, int milliseconds) {
        var request =
                HttpRequest.newBuilder(URI.create(service + method))
                        .header("content-type", "application/json")
                        .header("3gpp-sbi-max-rsp-time", Integer.toString(milliseconds))
                        .timeout(Duration.ofMillis(milliseconds + 1000))
                        .POST(body)
                        .build();
        return send(request).thenApply(RestClient::text);
    }

    /**
     * One call alone until a connection stands: HttpClient opens one for each call that begins before,
     * with a handshake each, and keeps only the first. Also again when a connection was lost.
     */
    private CompletableFuture<HttpResponse<String>> send(HttpRequest request) {
        var alone = new CompletableFuture<Void>();
        var opened = first.compareAndExchange(null, alone);
        if (opened != null && !opened.isDone()) {
            return opened.thenCompose(ended -> send(request));
        }
        var turn = opened == null ? alone : opened;
        return client.sendAsync(request, BodyHandlers.ofString())
                .whenComplete(
                        (response, failure) -> {
                            if (failure != null) {
                                first.compareAndSet(turn, null);
                            }
                            turn.complete(null);
                        });
    }

    private static String text(HttpResponse<String> response) {
        if (response.statusCode() == 200) {
            return response.body();
        }
        var problem = JSON.fromJson(response.body(), Problem.class);
        throw new Failure(CODES.getOrDefault(problem.cause(), problem.cause()), problem.detail());
    }

    @Override
    public void close() {
        // Before Java 21 an HttpClient ends with the last reference to it.
    }
}
