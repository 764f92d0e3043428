//! The qualities of a service in operation, against the program in processes of its own: restarts under
//! load, certificates that change or are not good, peers that fall silent, links that go down.

#![cfg(target_os = "linux")]

mod qualities {
    mod certificates;
    mod link;
    mod names;
    mod program;
    mod restarts;
    mod silence;
}
