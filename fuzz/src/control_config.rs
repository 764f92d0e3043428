//! A configuration file is read or refused with its faults, whatever stands in it.

use corewire_control::config::Config;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Config::parse(text) {
        Ok(config) => assert_eq!(
            Config::parse(text),
            Ok(config),
            "read twice, the same twice"
        ),
        Err(faults) => {
            assert!(faults.iter().len() > 0, "refused without a fault");
            for fault in faults.iter() {
                assert!(!fault.reason.is_empty());
                let lines = text.bytes().filter(|octet| *octet == b'\n').count() + 1;
                assert!(fault.line <= lines, "line {} of {lines}", fault.line);
            }
        }
    }
}
