use super::*;

fn shell(script: &str) -> Process {
    let cpus = CpuPlan::choose(None).expect("some core").client;
    let nothing: [(&'static str, String); 0] = [];
    Process::spawn(Path::new("/bin/sh"), ["-c", script], nothing, &cpus).expect("a shell")
}

const SOON: Duration = Duration::from_secs(10);

#[test]
fn lines_arrive_and_then_the_end() {
    let process = shell("echo one; echo two; exit 3");
    assert_eq!(process.output(SOON), Output::Line("one".into()));
    assert_eq!(process.output(SOON), Output::Line("two".into()));
    assert_eq!(process.output(SOON), Output::End);
    assert_eq!(
        process.wait(SOON).expect("ended").to_string(),
        "exit code 3"
    );
}

#[test]
fn silence_is_bounded() {
    let process = shell("sleep 60");
    assert_eq!(process.output(Duration::from_millis(20)), Output::Silence);
}

#[test]
fn one_that_ignores_the_request_is_killed() {
    let process = shell("trap '' TERM; echo up; while :; do sleep 1; done");
    assert_eq!(process.output(SOON), Output::Line("up".into()));
    process.end();
    assert_eq!(process.ended().expect("killed").to_string(), "signal 9");
}

#[test]
fn dropping_ends_it() {
    let process = shell("echo up; exec sleep 60");
    assert_eq!(process.output(SOON), Output::Line("up".into()));
    let proc = format!("/proc/{}", process.id());
    drop(process);
    assert!(!Path::new(&proc).exists());
}

#[test]
fn it_runs_where_it_was_held_to() {
    let plan = CpuPlan::choose(None).expect("some core");
    let nothing: [(&'static str, String); 0] = [];
    let script = "grep Cpus_allowed_list /proc/self/status";
    let process = Process::spawn(Path::new("/bin/sh"), ["-c", script], nothing, &plan.server)
        .expect("a shell");
    let Output::Line(line) = process.output(SOON) else {
        panic!("the shell says something");
    };
    assert_eq!(line, format!("Cpus_allowed_list:\t{}", plan.server));
}

#[test]
fn its_last_words_are_kept() {
    let process = shell("echo one >&2; echo two >&2");
    process.wait(SOON);
    assert_eq!(process.last_words(), "one | two");
}

#[test]
fn a_missing_program_is_named() {
    let cpus = CpuPlan::choose(None).expect("some core").client;
    let nothing: [(&'static str, String); 0] = [];
    let error = Process::spawn(Path::new("/nowhere/peer"), ["x"], nothing, &cpus)
        .expect_err("there is none");
    assert!(format!("{error:#}").contains("/nowhere/peer"), "{error:#}");
}

/// Not a test by itself: the process in which the next one lets a panic happen. It has a child
/// whose destructor will not run, as under `panic = "abort"`.
#[test]
#[ignore = "run by a_panic_leaves_no_child_behind, in a process of its own"]
fn panics_with_a_child() {
    let process = shell("exec sleep 60");
    println!("child {}", process.id());
    std::mem::forget(process);
    panic!("on purpose");
}

#[test]
fn a_panic_leaves_no_child_behind() {
    let test = std::env::current_exe().expect("this test");
    let output = Command::new(test)
        .args([
            "--exact",
            "process::tests::panics_with_a_child",
            "--ignored",
            "--nocapture",
        ])
        .output()
        .expect("the test runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let pid = said
        .lines()
        .find_map(|line| line.split_once("child ")?.1.trim().parse::<u32>().ok())
        .expect("the child's id");
    assert!(!output.status.success(), "{said}");
    let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    assert!(!command.contains("sleep"), "{pid} is still there");
}

#[test]
fn what_it_has_started_ends_with_it() {
    let process = shell("sleep 60 & echo $!; wait");
    let Output::Line(pid) = process.output(SOON) else {
        panic!("the shell says something");
    };
    process.end();
    let proc = format!("/proc/{pid}/cmdline");
    let deadline = Instant::now() + SOON;
    // An orphan is waited for by somebody else, soon.
    while std::fs::read_to_string(&proc).is_ok_and(|command| command.contains("sleep")) {
        assert!(Instant::now() < deadline, "{pid} is still there");
        thread::sleep(Duration::from_millis(5));
    }
}
