use super::*;
use crate::guti::adapters::tests::catalog;

fn request(profile: Profile) -> Request {
    Request {
        profile,
        adapters: Vec::new(),
        clients: Vec::new(),
        payloads: Vec::new(),
        modes: Vec::new(),
        rates: Vec::new(),
        repeat: None,
        minutes: None,
        connections: Sharing::Own,
        server_cpu: None,
        listen: "127.0.0.1:0".into(),
        network: Between::Loopback,
        one_core: false,
        peers: Vec::new(),
    }
}

fn subjects(count: usize) -> Vec<Subject> {
    let one = catalog()
        .subjects(&["TCP-AS".into()], &[], Sharing::Own)
        .expect("known")
        .remove(0);
    (0..count)
        .map(|at| {
            let mut subject = one.clone();
            subject.name = format!("A{at}");
            subject
        })
        .collect()
}

fn cells(plan: &Plan) -> Vec<(Mode, Option<u64>, u64, u32)> {
    let mut cells = Vec::new();
    for step in plan.turns.iter().flat_map(|turn| &turn.steps) {
        let Cell {
            mode,
            rate,
            payload_bytes,
            clients,
            ..
        } = step.cell;
        if !cells.contains(&(mode, rate, payload_bytes, clients)) {
            cells.push((mode, rate, payload_bytes, clients));
        }
    }
    cells
}

#[test]
fn smoke_and_quick_fit_their_promise_with_all_adapters() {
    for (profile, promise) in [(Profile::Smoke, 60), (Profile::Quick, 360)] {
        let plan = make(&request(profile), &subjects(15));
        assert!(
            plan.expected() < Duration::from_secs(promise),
            "{:?}",
            plan.expected()
        );
        assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
    }
}

#[test]
fn quick_uses_its_time_and_repeats_table_cells_five_times() {
    let plan = make(&request(Profile::Quick), &subjects(15));
    assert!(
        plan.expected() > Duration::from_secs(240),
        "{:?}",
        plan.expected()
    );
    for payload in [0, 10_000, 100_000] {
        for clients in [1, 4, 16] {
            let runs = plan
                .turns
                .iter()
                .flat_map(|turn| &turn.steps)
                .filter(|step| {
                    step.cell.subject == "A0"
                        && step.cell.mode == Mode::NoRate
                        && (step.cell.payload_bytes, step.cell.clients) == (payload, clients)
                });
            assert_eq!(runs.count(), 5);
        }
    }
}

#[test]
fn cells_runs_every_condition_of_the_tables_in_38_minutes() {
    let subjects = subjects(Spec::of(Profile::Cells).adapters.len());
    let plan = make(&request(Profile::Cells), &subjects);
    assert_eq!(cells(&plan).len(), 27);
    let steps: Vec<&Step> = plan.turns.iter().flat_map(|turn| &turn.steps).collect();
    assert_eq!(steps.len(), 27 * subjects.len() * 5);
    let minutes = plan.expected().as_secs_f64() / 60.0;
    assert!((30.0..38.0).contains(&minutes), "{minutes} minutes");
    assert!(plan.notes.iter().all(|note| !note.contains("does not fit")));
    // A table's winner can be named: each window is long enough to mean something.
    let long = |step: &&Step| matches!(step.length, Length::Window(window) if window >= Duration::from_millis(700));
    assert!(steps.iter().all(long));
}

#[test]
fn the_floor_runs_each_subject_where_it_says_something() {
    let named = ["TCP-AS", "TCP-AS+shared"].map(str::to_owned);
    let subjects = catalog()
        .subjects(&named, &[], Sharing::Own)
        .expect("known");
    let plan = make(&request(Profile::Floor), &subjects);
    let mut shapes: Vec<(u32, u32)> = plan
        .turns
        .iter()
        .flat_map(|turn| &turn.steps)
        .map(|step| (step.cell.clients, step.cell.connections))
        .collect();
    shapes.sort_unstable();
    shapes.dedup();
    // Own connections with 1 and 16 clients, one connection with 16 and 64.
    assert_eq!(shapes, [(1, 1), (16, 1), (16, 16), (64, 1)]);
}

#[test]
fn full_is_the_thesis_matrix() {
    let plan = make(&request(Profile::Full), &subjects(1));
    // 6 payloads without rate, 8 further numbers of clients at 3 payloads, 7 rates at 6 payloads.
    assert_eq!(cells(&plan).len(), 6 + 8 * 3 + 7 * 6);
    let mut time = Duration::ZERO;
    let mut requests = 0;
    for step in plan.turns.iter().flat_map(|turn| &turn.steps) {
        match step.length {
            Length::Fixed(window) => time += window,
            Length::Requests(count) => requests += count,
            Length::Window(_) => panic!("full has no budget to share"),
        }
    }
    assert_eq!(time, Duration::from_secs(120) * (8 * 3 + 7 * 6));
    assert_eq!(requests, 6 * 1_000_000);
    // The thesis's eight adapters take about a day.
    let day = make(&request(Profile::Full), &subjects(8))
        .expected()
        .as_secs_f64()
        / 86_400.0;
    assert!((0.7..1.3).contains(&day), "{day} days");
}

#[test]
fn subjects_take_turns_in_rotated_order() {
    let plan = make(&request(Profile::Quick), &subjects(3));
    let firsts: Vec<&str> = plan
        .turns
        .iter()
        .filter(|turn| {
            turn.steps[0].cell.payload_bytes == 10_000 && turn.steps[0].cell.clients == 4
        })
        .map(|turn| turn.steps[0].cell.subject.as_str())
        .collect();
    assert_eq!(firsts.len(), 5);
    for name in ["A0", "A1", "A2"] {
        assert!(firsts.contains(&name), "{firsts:?}");
    }
    for turn in &plan.turns {
        assert_eq!(turn.steps.len(), 3);
    }
}

#[test]
fn a_grid_is_the_product_of_what_is_given() {
    let mut asked = request(Profile::Quick);
    asked.clients = vec![1, 8, 8];
    asked.payloads = vec![0];
    let plan = make(&asked, &subjects(2));
    assert_eq!(
        cells(&plan),
        [(Mode::NoRate, None, 0, 1), (Mode::NoRate, None, 0, 8)]
    );
    assert_eq!(plan.steps(), 2 * 2 * 5);

    asked.rates = vec![Some(100), None];
    let plan = make(&asked, &subjects(1));
    assert_eq!(cells(&plan).len(), 4);

    asked.rates = vec![Some(100)];
    let plan = make(&asked, &subjects(1));
    assert!(cells(&plan).iter().all(|cell| cell.0 == Mode::Rate));

    asked.rates = vec![];
    asked.modes = vec![Mode::Rate];
    let rates: Vec<_> = cells(&make(&asked, &subjects(1)))
        .iter()
        .map(|cell| cell.1)
        .collect();
    assert_eq!(rates, [50, 50, 200, 200, 1000, 1000].map(Some));
}

#[test]
fn a_mode_alone_takes_that_part_of_the_profile() {
    let mut asked = request(Profile::Quick);
    asked.modes = vec![Mode::Rate];
    let plan = make(&asked, &subjects(1));
    assert_eq!(cells(&plan).len(), 3);
    asked.modes = vec![Mode::NoRate];
    assert_eq!(cells(&make(&asked, &subjects(1))).len(), 12);
}

#[test]
fn contradictions_are_refused() {
    let mut asked = request(Profile::Quick);
    asked.modes = vec![Mode::NoRate];
    asked.rates = vec![Some(100)];
    assert!(asked.check().is_err());
    asked.rates = vec![None];
    asked.check().expect("max means no-rate");
    asked.modes = vec![Mode::Rate];
    assert!(asked.check().is_err());
    asked.modes = vec![];
    asked.repeat = Some(0);
    assert!(asked.check().is_err());
    asked.repeat = None;
    asked.clients = vec![0];
    assert!(asked.check().is_err());
}

#[test]
fn more_than_fits_is_run_and_said_to_take_longer() {
    let mut asked = request(Profile::Smoke);
    asked.clients = (1..=16).collect();
    asked.payloads = vec![0, 10_000, 100_000];
    let plan = make(&asked, &subjects(15));
    assert_eq!(plan.steps(), 15 * 48);
    assert!(
        plan.notes.iter().any(|note| note.contains("takes longer")),
        "{:?}",
        plan.notes
    );
    assert!(plan.expected() > Duration::from_secs(60));
}

#[test]
fn few_repetitions_are_warned_of() {
    let mut asked = request(Profile::Quick);
    asked.repeat = Some(3);
    let plan = make(&asked, &subjects(2));
    assert!(
        plan.notes.iter().any(|note| note.contains("no winner")),
        "{:?}",
        plan.notes
    );
}

#[test]
fn a_missing_adapter_is_a_hole_once_a_cell_and_costs_no_time() {
    let names = ["TCP-AS".to_owned(), "THRIFT-S".to_owned()];
    let both = catalog()
        .subjects(&names, &[], Sharing::Own)
        .expect("known");
    let plan = make(&request(Profile::Quick), &both);
    let holes: Vec<&Step> = plan
        .turns
        .iter()
        .flat_map(|turn| &turn.steps)
        .filter(|step| step.hole.is_some())
        .collect();
    assert_eq!(holes.len(), cells(&plan).len());
    assert!(
        holes
            .iter()
            .all(|step| step.repetition == 1 && step.expected.is_zero())
    );
    let hole = holes[0].hole.as_ref().expect("a hole").to_string();
    assert!(
        hole.contains("libthrift-dev") && hole.contains("make peers"),
        "{hole}"
    );
}

#[test]
fn a_shared_connection_is_another_cell() {
    let mut asked = request(Profile::Smoke);
    asked.connections = Sharing::Shared;
    let shared = catalog().subjects(&["TCP-AS".into()], &[], Sharing::Shared);
    let plan = make(&asked, &shared.expect("known"));
    assert!(
        plan.turns
            .iter()
            .flat_map(|turn| &turn.steps)
            .all(|step| step.cell.connections == 1)
    );
}

#[test]
fn what_was_asked_survives_the_record() {
    let mut asked = request(Profile::Full);
    asked.rates = vec![Some(10), None];
    let text = serde_json::to_string(&asked).expect("plain data");
    assert_eq!(
        serde_json::from_str::<Request>(&text).expect("own output"),
        asked
    );
}

#[test]
fn less_time_means_shorter_windows_and_the_same_runs() {
    let whole = make(&request(Profile::Cells), &subjects(12));
    let mut short = request(Profile::Cells);
    short.minutes = Some(16);
    let short = make(&short, &subjects(12));
    let runs = |plan: &Plan| {
        plan.turns
            .iter()
            .map(|turn| turn.steps.len())
            .sum::<usize>()
    };
    assert_eq!(runs(&short), runs(&whole));
    assert!(short.expected() < Duration::from_secs(16 * 60));
    assert!(short.expected() < whole.expected());
}
