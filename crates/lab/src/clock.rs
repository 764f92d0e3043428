//! Time spans as text.

use std::time::Duration;

/// A time span for people: `0.4 s`, `12 s`, `3 min 05 s`, `27 h 10 min`.
pub(crate) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = seconds.round() as u64;
    if seconds < 9.95 {
        format!("{seconds:.1} s")
    } else if whole < 60 {
        format!("{whole} s")
    } else if whole < 3600 {
        format!("{} min {:02} s", whole / 60, whole % 60)
    } else {
        format!("{} h {:02} min", whole / 3600, whole / 60 % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        assert_eq!(span(Duration::from_millis(420)), "0.4 s");
        assert_eq!(span(Duration::from_secs(59)), "59 s");
        assert_eq!(span(Duration::from_secs(185)), "3 min 05 s");
        assert_eq!(span(Duration::from_secs(97_800)), "27 h 10 min");
    }
}
