package corewire.clients;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** PEM files for Java's own TLS, which knows key stores only. */
final class Certificates {

    /** Believes authority.pem, and is client.pem with client.key (an elliptic curve's). */
    static SSLContext mutualTls(Path folder) throws IOException, GeneralSecurityException {
        char[] password = new char[0];
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, password);
        store.setCertificateEntry("authority", certificate(folder.resolve("authority.pem")));
        Certificate[] chain = {certificate(folder.resolve("client.pem"))};
        store.setKeyEntry("client", key(folder.resolve("client.key")), password, chain);

        var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, password);
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    private static Certificate certificate(Path file) throws IOException, GeneralSecurityException {
        try (var stream = Files.newInputStream(file)) {
            return CertificateFactory.getInstance("X.509").generateCertificate(stream);
        }
    }

    private static PrivateKey key(Path file) throws IOException, GeneralSecurityException {
        String base64 = Files.readString(file).replaceAll("-----[A-Z ]+-----", "");
        byte[] octets = Base64.getMimeDecoder().decode(base64);
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(octets));
    }

    private Certificates() {}
}
