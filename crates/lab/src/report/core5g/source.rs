//! The REST-based 5G core of 2019 (IIT Hyderabad, report of 11 March 2019): the means of its task 3.

/// One procedure: what it is called here and in the records, and the source's means in milliseconds by
/// UEs: with one thread in each NF, and with one a UE.
pub(super) struct Procedure {
    pub(super) title: &'static str,
    pub(super) field: &'static str,
    pub(super) one_thread: [f64; 4],
    pub(super) thread_a_ue: [f64; 4],
}

/// UEs of its tables.
pub(super) const UES: [u32; 4] = [1, 2, 5, 10];

pub(super) const PROCEDURES: [Procedure; 3] = [
    Procedure {
        title: "Registration",
        field: "registration_ms",
        one_thread: [8.4844, 11.11056, 260.1328, 536.6366],
        thread_a_ue: [8.4844, 8.5872, 16.35618, 34.11612],
    },
    Procedure {
        title: "Session creation",
        field: "session_ms",
        one_thread: [175.3326, 179.8534, 145.6166, 129.2704],
        thread_a_ue: [175.3326, 226.9646, 378.2406, 607.94],
    },
    Procedure {
        title: "Detach",
        field: "detach_ms",
        one_thread: [4.2086, 7.6408, 6.17288, 5.85984],
        thread_a_ue: [4.2086, 3.658, 6.17906, 7.23634],
    },
];

impl Procedure {
    /// The source's mean with this setting of threads.
    pub(super) fn mean(&self, threads: &str, ues: u32) -> Option<f64> {
        let at = UES.iter().position(|known| *known == ues)?;
        Some(match threads {
            "ues" => self.thread_a_ue[at],
            _ => self.one_thread[at],
        })
    }
}
