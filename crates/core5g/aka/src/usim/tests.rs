//! Network and UE against each other, and against the vectors of the specifications.

use corewire_guti::Plmn;

use super::*;
use crate::AutsMacFailure;
use crate::{Abba, AuthManagementField, Op, Opc, SubscriberKey, Supi};

/// TS 35.208 clause 4.3, test set 1.
const K: &str = "465b5ce8b199b49faa5f0a2ee238a6bc";
const OP: &str = "cdc202d5123e20f62b6d676ac72cb318";
const OPC: &str = "cd63cb71954a9f4e48a5994e37a02baf";
const RAND: &str = "23553cbe9637a89d218ae64dae47bf35";

fn subscriber() -> Subscriber {
    Subscriber::new(K.parse().unwrap(), OPC.parse().unwrap())
}

fn network() -> ServingNetwork {
    ServingNetwork::of(Plmn::new(208, 93, 2).unwrap())
}

fn vector(sqn: Sqn) -> crate::AuthVector {
    let rand = RAND.parse().unwrap();
    subscriber().vector(rand, sqn, &AuthManagementField::default(), &network())
}

#[test]
fn opc_is_that_of_ts_35_208() {
    let key: SubscriberKey = K.parse().unwrap();
    let op: Op = OP.parse().unwrap();
    assert_eq!(Opc::from_op(&key, &op), OPC.parse().unwrap());
}

#[test]
fn autn_is_that_of_ts_35_208() {
    let rand = RAND.parse().unwrap();
    let sqn = "ff9bb4d0b607".parse().unwrap();
    let field = "b9b9".parse().unwrap();
    let vector = subscriber().vector(rand, sqn, &field, &network());
    // SQN xor AK | AMF | MAC-A, all three in the test set.
    assert_eq!(vector.autn.to_hex(), "55f328b43577b9b94a9ffac354dfafb3");
    // K_AUSF and K_SEAF as another implementation of TS 33.501 Annex A computed them from the set.
    let kausf = "f2e35260f85194d4f891504d02111e56689ac23dd393bee3abbcc5bfbc013ef9";
    assert_eq!(vector.kausf.to_hex(), kausf);
    let kseaf = "cfddde483bd1318a412e98870f556410905be4fb7500abed93ee16af71bbb3fa";
    assert_eq!(vector.kausf.kseaf(&network()).to_hex(), kseaf);
}

/// The key derivation function by hand (TS 33.220 Annex B.2.0): HMAC-SHA-256 of FC and the
/// parameters with their lengths, so that the derivations are not only compared with themselves.
fn kdf(key: &[u8], fc: u8, parameters: &[&[u8]]) -> Vec<u8> {
    use hmac_sha256::hmac;
    let mut input = vec![fc];
    for parameter in parameters {
        input.extend_from_slice(parameter);
        input.extend_from_slice(&u16::try_from(parameter.len()).unwrap().to_be_bytes());
    }
    hmac(key, &input)
}

mod hmac_sha256 {
    //! RFC 2104 over SHA-256, by `aws-lc-rs`, which TLS uses too.

    pub(super) fn hmac(key: &[u8], input: &[u8]) -> Vec<u8> {
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, key);
        aws_lc_rs::hmac::sign(&key, input).as_ref().to_vec()
    }
}

#[test]
fn the_keys_below_follow_ts_33_501_annex_a() {
    let vector = vector(Sqn::default().next());
    let name = network().to_string();
    let kseaf = vector.kausf.kseaf(&network());
    assert_eq!(
        kseaf.as_bytes()[..],
        kdf(vector.kausf.as_bytes(), 0x6c, &[name.as_bytes()])
    );
    let supi = Supi::from_imsi("208930000000001").unwrap();
    let kamf = kseaf.kamf(&supi, &Abba::default());
    assert_eq!(
        kamf.as_bytes()[..],
        kdf(kseaf.as_bytes(), 0x6d, &[b"208930000000001", &[0, 0]])
    );
    let kgnb = kamf.kgnb(7);
    assert_eq!(
        kgnb.as_bytes()[..],
        kdf(kamf.as_bytes(), 0x6e, &[&7_u32.to_be_bytes(), &[1]])
    );
}

#[test]
fn network_and_ue_agree() {
    let vector = vector(Sqn::default().next());
    let mut usim = Usim::new(subscriber(), SqnWindow::default());
    let answer = usim.answer(&vector.rand, &vector.autn, &network()).unwrap();
    assert!(vector.xres_star.accepts(&answer.res_star));
    assert!(vector.hxres_star().accepts(&vector.rand, &answer.res_star));
    assert_eq!(vector.kausf, answer.kausf);

    let mut wrong = *answer.res_star.as_bytes();
    wrong[15] ^= 1;
    let wrong = ResStar::new(wrong);
    assert!(!vector.xres_star.accepts(&wrong));
    assert!(!vector.hxres_star().accepts(&vector.rand, &wrong));
}

#[test]
fn another_serving_network_is_another_answer() {
    let vector = vector(Sqn::default().next());
    let mut usim = Usim::new(subscriber(), SqnWindow::default());
    let elsewhere = ServingNetwork::of(Plmn::new(208, 92, 2).unwrap());
    let answer = usim.answer(&vector.rand, &vector.autn, &elsewhere).unwrap();
    assert!(!vector.xres_star.accepts(&answer.res_star));
    assert_ne!(vector.kausf, answer.kausf);
}

#[test]
fn a_replayed_challenge_resynchronises_the_network() {
    let sqn = Sqn::new(0x1000).unwrap();
    let old = vector(sqn);
    let ahead = Sqn::new(0x9000).unwrap();
    let mut usim = Usim::new(subscriber(), SqnWindow::after(ahead));
    let refusal = usim.answer(&old.rand, &old.autn, &network()).unwrap_err();
    let UsimRefusal::Synch(auts) = refusal else {
        panic!("{refusal:?}");
    };
    let told = subscriber().resynchronise(&old.rand, &auts).unwrap();
    assert!(told >= ahead);
    let fresh = vector(told.next());
    assert!(usim.answer(&fresh.rand, &fresh.autn, &network()).is_ok());

    let mut forged = *auts.as_bytes();
    forged[13] ^= 1;
    let refused = subscriber().resynchronise(&old.rand, &Auts::new(forged));
    assert_eq!(refused, Err(AutsMacFailure));
}

#[test]
fn a_forged_challenge_and_one_for_another_system_are_refused() {
    let mut usim = Usim::new(subscriber(), SqnWindow::default());
    let good = vector(Sqn::default().next());
    let mut forged = *good.autn.as_bytes();
    forged[15] ^= 1;
    let refusal = usim.answer(&good.rand, &Autn::new(forged), &network());
    assert_eq!(refusal.unwrap_err(), UsimRefusal::Mac);

    let field = AuthManagementField::new([0, 0]);
    let other = subscriber().vector(good.rand.clone(), Sqn::default().next(), &field, &network());
    let refusal = usim.answer(&other.rand, &other.autn, &network());
    assert_eq!(refusal.unwrap_err(), UsimRefusal::SeparationBit);
    assert!(
        usim.answer(&good.rand, &good.autn, &network()).is_ok(),
        "nothing was taken"
    );
}
