//! What went wrong in TLS, by a name that can be searched for.

use rustls::{AlertDescription, CertificateError, Error};

/// A sentence for the one who has to mend it, seen from this end.
pub(super) fn name_of(error: &Error) -> &'static str {
    match error {
        Error::InvalidCertificate(certificate) => name_of_certificate(certificate),
        Error::NoCertificatesPresented => "the peer presented no certificate",
        Error::AlertReceived(alert) => name_of_alert(*alert),
        Error::InvalidMessage(_) => "the peer does not speak TLS here, or octets were damaged",
        Error::DecryptError => "a TLS record was damaged",
        Error::PeerSentOversizedRecord => "a TLS record is too long",
        Error::PeerIncompatible(_) => "the peer has no TLS 1.3 in common with this end",
        Error::PeerMisbehaved(_) => "the peer broke the TLS protocol",
        Error::NoApplicationProtocol => "the peer asked by ALPN for a protocol not spoken here",
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            "a TLS message came at the wrong time"
        }
        _ => "TLS failed",
    }
}

fn name_of_certificate(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the peer's certificate has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the peer's certificate is not valid yet: are both clocks right?"
        }
        CertificateError::UnknownIssuer => {
            "the peer's certificate was issued by none of the accepted authorities"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the peer's certificate is for another name than the endpoint's"
        }
        CertificateError::Revoked => "the peer's certificate is revoked",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the peer's certificate is not for this purpose"
        }
        _ => "the peer's certificate is not good",
    }
}

fn name_of_alert(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::CertificateRequired => {
            "the peer requires a certificate and this end presented none"
        }
        AlertDescription::CertificateExpired => {
            "the peer refused this end's certificate: it has expired"
        }
        AlertDescription::UnknownCA => {
            "the peer refused this end's certificate: it does not accept its authority"
        }
        AlertDescription::CertificateRevoked => {
            "the peer refused this end's certificate: it is revoked"
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied => "the peer refused this end's certificate",
        AlertDescription::NoApplicationProtocol => {
            "the peer does not speak this protocol (ALPN) on its TLS port"
        }
        AlertDescription::ProtocolVersion => "the peer has no TLS 1.3",
        _ => "the peer ended the connection with a TLS alert",
    }
}

/// Whether it was said before anything of the application can have been heard: the peer refuses.
pub(super) const fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::AlertReceived(_))
}
