//! The command line that makes these runs again, from the request that each record holds.

use serde_json::{Map, Value};

use crate::record::Record;

/// Fields of the request and the options that give them, in the order of the command line.
const OPTIONS: [(&str, &str); 10] = [
    ("profile", "--profile"),
    ("paths", "--path"),
    ("rates", "--rate"),
    ("replicas", "--replicas"),
    ("replica_mode", "--replica-mode"),
    ("hops", "--hops"),
    ("gateways", "--gateways"),
    ("in_flight", "--in-flight"),
    ("repeat", "--repeat"),
    ("server_cpu", "--server-cpu"),
];

/// One command for each distinct request, in the order of the runs.
pub(super) fn commands(records: &[&Record]) -> Vec<String> {
    let mut commands = Vec::new();
    for record in records {
        if let Some(Value::Object(request)) = record.options.get("request") {
            let command = command(request);
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

fn command(request: &Map<String, Value>) -> String {
    let mut command = "corewire lab run mesh".to_owned();
    let named = request.get("named") == Some(&Value::Bool(true));
    for (field, option) in OPTIONS {
        // Paths that nobody named are written down for --resume; the profile has its own.
        if field == "paths" && !named {
            continue;
        }
        let values = match request.get(field) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(values)) => values.iter().map(word).collect(),
            Some(value) => vec![word(value)],
        };
        if !values.is_empty() {
            command.push_str(&format!(" {option} {}", values.join(",")));
        }
    }
    if request.get("envoy_per_replica") == Some(&Value::Bool(true)) {
        command.push_str(" --envoy-per-replica");
    }
    command
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // Saturation.
        Value::Null => "max".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_becomes_the_options_that_made_it() {
        let request = json!({
            "profile": "quick", "paths": ["inline-rest", "envoy-2-rest"], "named": true,
            "rates": [1500, null], "replicas": [], "replica_mode": null,
            "envoy_per_replica": true, "hops": [1, 4], "gateways": [], "mtls": "off",
            "in_flight": 60, "repeat": 5, "server_cpu": null,
        });
        let Value::Object(request) = request else {
            panic!("an object");
        };
        assert_eq!(
            command(&request),
            "corewire lab run mesh --profile quick --path inline-rest,envoy-2-rest \
             --rate 1500,max --hops 1,4 --in-flight 60 --repeat 5 --envoy-per-replica"
        );
    }
}
