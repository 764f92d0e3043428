//! The command line that makes these runs again, from the request that each record holds.

use serde_json::{Map, Value};

use crate::record::Record;

/// One command of `scenario` for each distinct request, in the order of the runs. `options` are the
/// fields of the request and the options that give them, in the order of the command line.
pub(super) fn commands(
    records: &[&Record],
    scenario: &str,
    options: &[(&str, &str)],
) -> Vec<String> {
    commands_of(records, scenario, options, |_, _| true)
}

/// The same, but only with those fields of a request that `is_told` wants.
pub(super) fn commands_of(
    records: &[&Record],
    scenario: &str,
    options: &[(&str, &str)],
    is_told: impl Fn(&Map<String, Value>, &str) -> bool,
) -> Vec<String> {
    let mut commands = Vec::new();
    for record in records {
        if let Some(Value::Object(request)) = record.options.get("request") {
            let told = options.iter().filter(|(field, _)| is_told(request, field));
            let command = command(request, scenario, told);
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

fn command<'a>(
    request: &Map<String, Value>,
    scenario: &str,
    options: impl Iterator<Item = &'a (&'a str, &'a str)>,
) -> String {
    let mut command = format!("corewire lab run {scenario}");
    for (field, option) in options {
        let values = match request.get(*field) {
            None | Some(Value::Null | Value::Bool(false)) => continue,
            // A switch.
            Some(Value::Bool(true)) => {
                command.push_str(&format!(" {option}"));
                continue;
            }
            Some(Value::Array(values)) => values.iter().map(word).collect(),
            Some(value) => vec![word(value)],
        };
        if !values.is_empty() {
            command.push_str(&format!(" {option} {}", values.join(",")));
        }
    }
    command
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // A rate without a limit.
        Value::Null => "max".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::tests::generated::record;

    #[test]
    fn a_request_becomes_the_command_that_made_it() {
        let mut first = record("CW-S", 0, 1, None, 1);
        first.options.insert(
            "request".into(),
            json!({
                "profile": "quick",
                "adapters": ["CW-S", "TCP-AS"],
                "clients": [1, 8],
                "payloads": [],
                "modes": [],
                "rates": [100, null],
                "repeat": null,
                "connections": "own",
                "server_cpu": 1,
                "listen": "127.0.0.1:0"
            }),
        );
        let again = first.clone();
        assert_eq!(
            commands(
                &[&first, &again],
                "guti",
                &[
                    ("profile", "--profile"),
                    ("adapters", "--adapter"),
                    ("clients", "--clients"),
                    ("payloads", "--payload"),
                    ("rates", "--rate"),
                    ("repeat", "--repeat"),
                    ("connections", "--connections"),
                    ("server_cpu", "--server-cpu"),
                ]
            ),
            [
                "corewire lab run guti --profile quick --adapter CW-S,TCP-AS --clients 1,8 \
                 --rate 100,max --connections own --server-cpu 1"
            ]
        );
    }

    #[test]
    fn without_a_request_there_is_no_command_to_give() {
        assert!(commands(&[&record("CW-S", 0, 1, None, 1)], "guti", &[]).is_empty());
    }
}
