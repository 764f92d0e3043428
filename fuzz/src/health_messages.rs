//! The health service's messages bear anything.

use corewire_message::health::{Serving, question, read_question};

/// One input, read as either message, and as a name that is asked for.
pub(crate) fn run(data: &[u8]) {
    if let Some(serving) = Serving::from_message(data) {
        let again = Serving::from_message(&serving.to_message().into_bytes());
        assert_eq!(again, Some(serving));
    }
    if let Some(service) = read_question(data) {
        assert!(service.len() <= data.len());
        assert_eq!(
            read_question(&question(&service).into_bytes()),
            Some(service)
        );
    }
}
