//! The qualities of a service in operation, against the program in processes of its own: restarts under
//! load, certificates that change or are not good, peers that fall silent.

#![cfg(target_os = "linux")]

mod qualities {
    mod certificates;
    mod program;
    mod restarts;
    mod silence;
}
