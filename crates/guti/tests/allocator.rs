//! The allocator as its users see it.

use std::collections::HashSet;
use std::sync::Mutex;

use corewire_guti::{
    AllocateError, Allocator, Capacity, DeallocateError, Guami, Guti, Plmn, Tmsi, TmsiKey,
};

fn allocator(capacity: u32) -> Allocator {
    with_key(capacity, 1)
}

fn with_key(capacity: u32, seed: u8) -> Allocator {
    Allocator::with_key(
        Guami::default(),
        Capacity::try_from(capacity).unwrap(),
        TmsiKey::from_bytes([seed; TmsiKey::LEN]),
    )
}

/// Allocates until exhausted.
fn fill(allocator: &Allocator) -> Vec<Guti> {
    (0..allocator.capacity().value())
        .map(|_| allocator.allocate().unwrap())
        .collect()
}

#[test]
fn gutis_are_of_the_guami_and_distinct() {
    let allocator = allocator(100_000);
    let gutis = fill(&allocator);
    assert!(gutis.iter().all(|guti| guti.guami() == Guami::default()));
    let distinct: HashSet<_> = gutis.iter().map(|guti| guti.tmsi()).collect();
    assert_eq!(distinct.len(), 100_000);
    assert_eq!(allocator.allocated(), 100_000);
}

#[test]
fn when_exhausted_then_an_error_until_one_is_given_back() {
    let allocator = allocator(3);
    let gutis = fill(&allocator);
    let exhausted = AllocateError::Exhausted { capacity: 3 };
    assert_eq!(exhausted.to_string(), "all 3 GUTIs are allocated");
    assert_eq!(allocator.allocate(), Err(exhausted));

    allocator.deallocate(&gutis[1]).unwrap();
    let again = allocator.allocate().unwrap();
    assert!(!gutis.contains(&again), "not the one given back just now");
    assert_eq!(allocator.allocate(), Err(exhausted));
}

#[test]
fn when_given_back_twice_or_never_allocated_then_an_error_and_no_change() {
    let allocator = allocator(10);
    let guti = allocator.allocate().unwrap();
    let kept = allocator.allocate().unwrap();
    assert!(allocator.is_allocated(&guti));
    allocator.deallocate(&guti).unwrap();
    assert!(!allocator.is_allocated(&guti));
    assert_eq!(
        allocator.deallocate(&guti),
        Err(DeallocateError::NotAllocated)
    );

    for tmsi in (0..u32::MAX).step_by(999_983) {
        let stranger = Guti::new(Guami::default(), Tmsi::try_from(tmsi).unwrap());
        if stranger != kept {
            assert_eq!(
                allocator.deallocate(&stranger),
                Err(DeallocateError::NotAllocated)
            );
        }
    }
    assert_eq!(allocator.allocated(), 1);
    assert!(allocator.is_allocated(&kept));
}

#[test]
fn when_the_guti_is_of_another_guami_then_an_error_that_names_both() {
    let allocator = allocator(10);
    let ours = allocator.allocate().unwrap();
    let theirs = Guti::new(
        Guami::from_amf_id("310-410".parse::<Plmn>().unwrap(), [2, 0, 0x40]),
        ours.tmsi(),
    );
    let error = allocator.deallocate(&theirs).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the GUTI is of GUAMI 310-410-020040, this is 001-01-020040"
    );
    assert!(!allocator.is_allocated(&theirs));
    assert!(allocator.is_allocated(&ours));
}

/// Runs through the whole index space several times, so that TMSIs are reused, with GUTIs held
/// throughout that must never come again.
#[test]
fn tmsis_are_reused_but_never_while_allocated() {
    let allocator = allocator(64);
    let held: HashSet<_> = (0..32).map(|_| allocator.allocate().unwrap()).collect();
    let mut seen = HashSet::new();
    let mut reused = 0;
    let mut live = Vec::new();
    for round in 0..40_000_usize {
        let guti = allocator.allocate().unwrap();
        assert!(!held.contains(&guti) && !live.contains(&guti));
        reused += usize::from(!seen.insert(guti));
        live.push(guti);
        if live.len() == 32 {
            allocator
                .deallocate(&live.swap_remove(round * 7 % 32))
                .unwrap();
        }
    }
    // 4096 indices: all were used, and after the first pass each allocation is a reuse.
    assert!(seen.len() <= 4096 - 32, "{}", seen.len());
    assert_eq!(reused, 40_000 - seen.len());
}

/// What was given back does not come again before everything fresh was used.
#[test]
fn while_there_are_fresh_tmsis_none_is_reused() {
    let allocator = allocator(1024);
    let mut seen = HashSet::new();
    for _ in 0..4095 {
        let guti = allocator.allocate().unwrap();
        assert!(seen.insert(guti));
        allocator.deallocate(&guti).unwrap();
    }
}

/// The order of the second pass must not be that of the first: who recorded it would know the next.
#[test]
fn the_order_of_reuse_is_another() {
    let allocator = allocator(1);
    let pass = || -> Vec<Guti> {
        (0..4096)
            .map(|_| {
                let guti = allocator.allocate().unwrap();
                allocator.deallocate(&guti).unwrap();
                guti
            })
            .collect()
    };
    let (first, second) = (pass(), pass());
    let same_place = first.iter().zip(&second).filter(|(a, b)| a == b).count();
    let same_step = first
        .windows(2)
        .filter(|step| second.windows(2).any(|other| other == *step))
        .count();
    // About one each by chance.
    assert!(same_place < 10, "{same_place}");
    assert!(same_step < 10, "{same_step}");
}

#[test]
fn the_key_decides_and_nothing_else() {
    let draw = |seed| fill(&with_key(1000, seed));
    assert_eq!(draw(1), draw(1));
    let (one, two) = (draw(1), draw(2));
    assert!(one.iter().zip(&two).all(|(a, b)| a != b));

    let fresh = || {
        fill(&Allocator::with_key(
            Guami::default(),
            Capacity::try_from(8).unwrap(),
            TmsiKey::random().unwrap(),
        ))
    };
    assert_ne!(fresh(), fresh(), "two keys of the system are two");
}

/// TMSIs in order of allocation show no order: as many steps up as down, and the paging occasions
/// (5G-S-TMSI mod 1024, TS 38.304 clause 7.1) are used evenly.
#[test]
fn tmsis_look_random() {
    let gutis = fill(&allocator(102_400));
    let up = gutis
        .windows(2)
        .filter(|pair| pair[0].tmsi() < pair[1].tmsi())
        .count();
    assert!(up.abs_diff(51_200) < 1_000, "{up} steps up of 102 399");

    let mut occasions = [0_i32; 1024];
    for guti in &gutis {
        occasions[(guti.tmsi().value() % 1024) as usize] += 1;
    }
    // Chi-square over 1023 degrees of freedom: 1023 with a deviation of 45.
    let chi_square: f64 = occasions
        .iter()
        .map(|&n| f64::from(n - 100).powi(2) / 100.0)
        .sum();
    assert!((800.0..1250.0).contains(&chi_square), "{chi_square}");
}

#[test]
fn threads_never_get_the_same_guti() {
    const THREADS: usize = 4;
    const EACH: usize = 20_000;
    // Small enough that the space is gone through and reuse begins while threads compete.
    let allocator = allocator(1 << 13);
    let live = Mutex::new(HashSet::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let guti = allocator.allocate().unwrap();
                    assert!(live.lock().unwrap().insert(guti), "allocated twice");
                    assert!(live.lock().unwrap().remove(&guti));
                    allocator.deallocate(&guti).unwrap();
                }
            });
        }
    });
    assert_eq!(allocator.allocated(), 0);
}

#[test]
fn threads_together_get_the_capacity_and_no_more() {
    let allocator = allocator(10_000);
    let got: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..10_000).filter(|_| allocator.allocate().is_ok()).count()))
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(got, 10_000);
    assert_eq!(allocator.allocated(), 10_000);
}

/// Of threads that give one back and take one, none may meet "exhausted": there is room for each.
#[test]
fn at_the_limit_a_thread_with_room_is_never_refused() {
    let allocator = allocator(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50_000 {
                    let guti = allocator.allocate().expect("one of four is ours");
                    allocator.deallocate(&guti).unwrap();
                }
            });
        }
    });
}

/// By the allocator's own account: it never grows, and its pages are one bit an index.
#[test]
fn ten_million_gutis_fit_into_64_mib() {
    let allocator = Allocator::new(Guami::default()).unwrap();
    assert!(allocator.capacity().value() >= 10_000_000);
    assert!(allocator.memory() < 64 << 20, "{}", allocator.memory());
    assert!(allocator.memory() > 32 << 20, "the bitmap is counted");
}

#[test]
fn a_capacity_is_within_its_limits() {
    assert!(Capacity::try_from(0).is_err());
    assert!(Capacity::try_from(Capacity::MAX.value()).is_ok());
    assert_eq!(
        Capacity::try_from(Capacity::MAX.value() + 1)
            .unwrap_err()
            .to_string(),
        "a capacity of 1073741825 GUTIs is not within 1 to 1073741824"
    );
}
