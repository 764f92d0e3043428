package corewire.clients;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;

/** The GUTI service from Java: over gRPC with grpc-java, over REST with java.net.http. */
public final class Main {

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 3 || arguments.length > 4) {
            System.err.println("usage: guti grpc|rest HOST:PORT COUNT [CERTIFICATES]");
            System.exit(2);
        }
        String server = arguments[1];
        // The folder of authority.pem, client.pem and client.key; null: clear text.
        Path certificates = arguments.length == 4 ? Path.of(arguments[3]) : null;
        if (arguments[0].equals("rest") && certificates == null) {
            System.err.println(
                    "java.net.http has HTTP/2 over TLS only: clear text it begins in HTTP/1.1");
            System.exit(77);
        }
        try (GutiClient client =
                switch (arguments[0]) {
                    case "grpc" -> new GrpcClient(server, certificates);
                    case "rest" -> new RestClient(server, certificates);
                    default -> throw new IllegalArgumentException("grpc or rest, not " + arguments[0]);
                }) {
            run(client, Integer.parseInt(arguments[2]));
        }
    }

    private static void run(GutiClient client, int count) {
        List<Guti> gutis = new ArrayList<>();
        IntStream.range(0, count)
                .mapToObj(i -> client.allocate(payload(i)))
                .toList()
                .forEach(call -> gutis.add(call.join()));
        for (Guti guti : gutis) {
            check(guti.isWellFormed(), guti + " is no GUTI");
        }
        check(new HashSet<>(gutis).size() == count, "a GUTI was allocated twice");
        System.out.printf(
                "allocated %d GUTIs, all different; the first is %s%n", count, gutis.get(0));

        gutis.stream().map(client::deallocate).toList().forEach(CompletableFuture::join);
        System.out.printf("deallocated %d GUTIs%n", count);

        System.out.println("unknown GUTI: " + failure(client.deallocate(gutis.get(0)), "NOT_FOUND"));
        System.out.println(
                "deadline of 200 ms: " + failure(client.hang(200), "DEADLINE_EXCEEDED"));
    }

    private static byte[] payload(int number) {
        return ("registration " + number).getBytes(StandardCharsets.UTF_8);
    }

    /** What the service said, if it is the expected code. */
    private static String failure(CompletableFuture<?> call, String code) {
        try {
            throw new IllegalStateException("expected " + code + ", not " + call.join());
        } catch (CompletionException ended) {
            if (ended.getCause() instanceof GutiClient.Failure failure && failure.code().equals(code)) {
                return failure.getMessage();
            }
            throw ended;
        }
    }

    private static void check(boolean good, String otherwise) {
        if (!good) {
            throw new IllegalStateException(otherwise);
        }
    }

    private Main() {}
}
