package corewire.clients;

import com.google.protobuf.ByteString;
import guti.v1.GutiOuterClass;
import guti.v1.GutiOuterClass.AllocateRequest;
import guti.v1.GutiOuterClass.AllocateResponse;
import guti.v1.GutiOuterClass.DeallocateRequest;
import guti.v1.GutiOuterClass.DeallocateResponse;
import guti.v1.GutiServiceGrpc;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** With grpc-java's asynchronous stubs. */
final class GrpcClient implements GutiClient {
    private final ManagedChannel channel;
    private final GutiServiceGrpc.GutiServiceStub stub;

    GrpcClient(String server, Path certificates) throws IOException {
        channel = Grpc.newChannelBuilder(server, credentials(certificates)).build();
        stub = GutiServiceGrpc.newStub(channel);
    }

    private static ChannelCredentials credentials(Path certificates) throws IOException {
        if (certificates == null) {
            return InsecureChannelCredentials.create();
        }
        return TlsChannelCredentials.newBuilder()
                .trustManager(certificates.resolve("authority.pem").toFile())
                .keyManager(
                        certificates.resolve("client.pem").toFile(),
                        certificates.resolve("client.key").toFile())
                .build();
    }

    private GutiServiceGrpc.GutiServiceStub within(int milliseconds) {
        return stub.withDeadlineAfter(milliseconds, TimeUnit.MILLISECONDS);
    }

    @Override
    public CompletableFuture<Guti> allocate(byte[] payload) {
        var request = AllocateRequest.newBuilder().setPayload(ByteString.copyFrom(payload)).build();
        var answer =
                new Answer<>(
                        (AllocateResponse response) -> {
                            if (!response.getPayload().equals(request.getPayload())) {
                                throw new IllegalStateException("another payload came back");
                            }
                            var guti = response.getGuti();
                            return new Guti(
                                    guti.getMcc(),
                                    guti.getMnc(),
                                    guti.getMncDigits(),
                                    guti.getAmfRegion(),
                                    guti.getAmfSet(),
                                    guti.getAmfPointer(),
                                    Integer.toUnsignedLong(guti.getTmsi()));
                        });
        within(10_000).allocate(request, answer);
        return answer.future;
    }

    @Override
    public CompletableFuture<Void> deallocate(Guti guti) {
        var message =
                GutiOuterClass.Guti.newBuilder()
                        .setMcc(guti.mcc())
                        .setMnc(guti.mnc())
                        .setMncDigits(guti.mncDigits())
                        .setAmfRegion(guti.amfRegion())
                        .setAmfSet(guti.amfSet())
                        .setAmfPointer(guti.amfPointer())
                        .setTmsi((int) guti.tmsi());
        var answer = new Answer<>((DeallocateResponse response) -> (Void) null);
        within(10_000).deallocate(DeallocateRequest.newBuilder().setGuti(message).build(), answer);
        return answer.future;
    }

    /** A stream that nothing is sent on. */
    @Override
    public CompletableFuture<?> hang(int milliseconds) {
        var answer = new Answer<>((AllocateResponse response) -> response);
        within(milliseconds).allocateStream(answer);
        return answer.future;
    }

    @Override
    public void close() {
        channel.shutdownNow();
    }

    /** A future of what an observer is told. */
    private record Answer<M, R>(Function<M, R> read, CompletableFuture<R> future)
            implements StreamObserver<M> {
        Answer(Function<M, R> read) {
            this(read, new CompletableFuture<>());
        }

        @Override
        public void onNext(M message) {
            future.complete(read.apply(message));
        }

        @Override
        public void onError(Throwable error) {
            Status status = Status.fromThrowable(error);
            future.completeExceptionally(
                    new Failure(status.getCode().name(), status.getDescription()));
        }

        @Override
        public void onCompleted() {
            future.completeExceptionally(new Failure("INTERNAL", "ended without an answer"));
        }
    }
}
