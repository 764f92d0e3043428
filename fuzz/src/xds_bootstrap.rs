//! A bootstrap of the xDS client is read or refused with its faults, and the name of a target too: what is
//! read of a name is read again from what it is called.

use corewire_mesh::xds::{Bootstrap, TargetName};

/// One input: a bootstrap, and a name that is asked for of it.
pub(crate) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(name) = TargetName::parse(&text) {
        assert_eq!(TargetName::parse(&name.to_string()).ok(), Some(name));
    }
    match Bootstrap::parse(&text) {
        Ok(bootstrap) => {
            assert!(!bootstrap.servers.is_empty());
            for target in ["smf", "xds:///smf", "xds://a/s%mf"] {
                let target = TargetName::parse(target).expect("a name");
                // An authority may be unknown to it.
                let _ = bootstrap.listener_name(&target);
            }
        }
        Err(fault) => assert!(!fault.faults.is_empty()),
    }
}
