//! A SUCI bears anything, as octets and as text, and so does whoever deconceals it.

use corewire_core5g_aka::{HomeNetworkKey, HomeNetworkKeys, Suci, Supi};

pub(crate) fn run(data: &[u8]) {
    let mut keys = HomeNetworkKeys::default();
    keys.insert(1, HomeNetworkKey::profile_a(&[1; 32]));
    keys.insert(2, HomeNetworkKey::profile_b(&[2; 32]).unwrap());
    if let Ok(suci) = Suci::from_nas(data) {
        assert_eq!(Suci::from_nas(&suci.to_nas()).as_ref(), Ok(&suci));
        let _ = suci.deconceal(&keys);
        let _ = (suci.plmn(), suci.to_string());
    }
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(suci) = text.parse::<Suci>() {
            let _ = suci.deconceal(&keys);
        }
        if let Ok(supi) = text.parse::<Supi>() {
            assert_eq!(supi.to_string(), text);
        }
    }
}
