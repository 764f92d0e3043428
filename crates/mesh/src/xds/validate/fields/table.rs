//! What is done with each field of the messages that a control plane sends: one row a field.
//!
//! `tests/upstream/fields.txt` has the fields that there are, and a test compares. `docs/mesh-fields.md`
//! is made from this table.

use super::{Field, Message};

const NOT_DONE: &str = "is not carried out";

pub(super) static LISTENER: Message = Message {
    names: &["envoy.config.listener.v3.Listener"],
    fields: &[
        Field::obeyed(1, "name"),
        Field::harmless(
            2,
            "address",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            3,
            "filter_chains",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            4,
            "use_original_dst",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            5,
            "per_connection_buffer_limit_bytes",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            6,
            "metadata",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            7,
            "deprecated_v1",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            8,
            "drain_type",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            9,
            "listener_filters",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            10,
            "transparent",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            11,
            "freebind",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            12,
            "tcp_fast_open_queue_length",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            13,
            "socket_options",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            15,
            "listener_filters_timeout",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            16,
            "traffic_direction",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            17,
            "continue_on_listener_filters_timeout",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            18,
            "udp_listener_config",
            "is about a socket that is listened at; callers have none",
        ),
        Field::within(19, "api_listener", &API_LISTENER),
        Field::harmless(
            20,
            "connection_balance_config",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            21,
            "reuse_port",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            22,
            "access_log",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            24,
            "tcp_backlog_size",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            25,
            "default_filter_chain",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            26,
            "bind_to_port",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            27,
            "internal_listener",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            28,
            "stat_prefix",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            29,
            "enable_reuse_port",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            30,
            "enable_mptcp",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            31,
            "ignore_global_conn_limit",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            32,
            "filter_chain_matcher",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            33,
            "additional_addresses",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            34,
            "max_connections_to_accept_per_socket_event",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            35,
            "bypass_overload_manager",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            36,
            "fcds_config",
            "is about a socket that is listened at; callers have none",
        ),
        Field::harmless(
            37,
            "tcp_keepalive",
            "is about a socket that is listened at; callers have none",
        ),
    ],
};

pub(super) static API_LISTENER: Message = Message {
    names: &["envoy.config.listener.v3.ApiListener"],
    fields: &[Field::typed(1, "api_listener", &[&MANAGER])],
};

pub(super) static MANAGER: Message = Message {
    names: &["envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"],
    fields: &[
        Field::harmless(
            1,
            "codec_type",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            2,
            "stat_prefix",
            "is about connections of callers from outside; there are none here",
        ),
        Field::within(3, "rds", &RDS),
        Field::within(4, "route_config", &ROUTES),
        Field::within(5, "http_filters", &HTTP_FILTER).repeated(),
        Field::reported(6, "add_user_agent", NOT_DONE).unless_zero(),
        Field::reported(7, "tracing", NOT_DONE),
        Field::harmless(
            8,
            "http_protocol_options",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            9,
            "http2_protocol_options",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            10,
            "server_name",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            12,
            "drain_timeout",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(13, "access_log", NOT_DONE),
        Field::harmless(
            14,
            "use_remote_address",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(15, "generate_request_id", NOT_DONE).unless_zero(),
        Field::harmless(
            16,
            "forward_client_cert_details",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            17,
            "set_current_client_cert_details",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            18,
            "proxy_100_continue",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            19,
            "xff_num_trusted_hops",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            20,
            "represent_ipv4_remote_address_as_ipv4_mapped_ipv6",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            21,
            "skip_xff_append",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(22, "via", NOT_DONE),
        Field::reported(23, "upgrade_configs", NOT_DONE),
        Field::reported(24, "stream_idle_timeout", NOT_DONE).unless_zero(),
        Field::harmless(
            25,
            "internal_address_config",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            26,
            "delayed_close_timeout",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(28, "request_timeout", NOT_DONE).unless_zero(),
        Field::harmless(
            29,
            "max_request_headers_kb",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(
            30,
            "normalize_path",
            "is not carried out: paths are routed as the caller wrote them",
        )
        .unless_zero(),
        Field::refused(31, "scoped_routes", "is not known here: rds is"),
        Field::harmless(
            32,
            "preserve_external_request_id",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(
            33,
            "merge_slashes",
            "is not carried out: paths are routed as the caller wrote them",
        ),
        Field::harmless(
            34,
            "server_header_transformation",
            "is about connections of callers from outside; there are none here",
        ),
        Field::within(35, "common_http_protocol_options", &MANAGER_OPTIONS),
        Field::reported(36, "request_id_extension", NOT_DONE),
        Field::harmless(
            37,
            "always_set_request_id_in_response",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(38, "local_reply_config", NOT_DONE),
        Field::harmless(
            39,
            "strip_matching_host_port",
            "a port counts only where a domain names one too",
        ),
        Field::harmless(
            40,
            "stream_error_on_invalid_http_message",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            41,
            "request_headers_timeout",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            42,
            "strip_any_host_port",
            "a port counts only where a domain names one too",
        ),
        Field::reported(
            43,
            "path_normalization_options",
            "is not carried out: paths are routed as the caller wrote them",
        ),
        Field::harmless(
            44,
            "http3_protocol_options",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(
            45,
            "path_with_escaped_slashes_action",
            "is not carried out: paths are routed as the caller wrote them",
        ),
        Field::harmless(
            46,
            "original_ip_detection_extensions",
            "is about connections of callers from outside; there are none here",
        ),
        Field::refused(
            47,
            "strip_trailing_host_dot",
            "would choose another virtual host: the target's name is taken as it is",
        ),
        Field::reported(48, "scheme_header_transformation", NOT_DONE),
        Field::harmless(
            49,
            "proxy_status_config",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            50,
            "typed_header_validation_config",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(51, "append_x_forwarded_port", NOT_DONE),
        Field::reported(52, "early_header_mutation_extensions", NOT_DONE),
        Field::harmless(
            53,
            "add_proxy_protocol_connection_state",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            54,
            "access_log_flush_interval",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            55,
            "flush_access_log_on_new_request",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            56,
            "access_log_options",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            57,
            "append_local_overload",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            58,
            "http1_safe_max_connection_duration",
            "is about connections of callers from outside; there are none here",
        ),
        Field::reported(59, "stream_flush_timeout", NOT_DONE).unless_zero(),
        Field::harmless(
            60,
            "forward_client_cert_matcher",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            61,
            "forward_proto_config",
            "is about connections of callers from outside; there are none here",
        ),
    ],
};

pub(super) static RDS: Message = Message {
    names: &["envoy.extensions.filters.network.http_connection_manager.v3.Rds"],
    fields: &[
        Field::within(1, "config_source", &SOURCE),
        Field::obeyed(2, "route_config_name"),
    ],
};

pub(super) static SOURCE: Message = Message {
    names: &["envoy.config.core.v3.ConfigSource"],
    fields: &[
        Field::judged(
            1,
            "path",
            "refused: must be ads, other sources are not asked",
        ),
        Field::judged(
            2,
            "api_config_source",
            "refused: must be ads, other sources are not asked",
        ),
        Field::obeyed(3, "ads"),
        Field::harmless(
            4,
            "initial_fetch_timeout",
            "a resource that does not come in 15 s counts as missing, as gRPC has it",
        ),
        Field::obeyed(5, "self"),
        Field::harmless(6, "resource_api_version", "version 3 is the only one"),
        Field::reported(7, "authorities", NOT_DONE),
        Field::judged(
            8,
            "path_config_source",
            "refused: must be ads, other sources are not asked",
        ),
    ],
};

pub(super) static MANAGER_OPTIONS: Message = Message {
    names: &["envoy.config.core.v3.HttpProtocolOptions"],
    fields: &[
        Field::harmless(
            1,
            "idle_timeout",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            2,
            "max_headers_count",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            3,
            "max_connection_duration",
            "is about connections of callers from outside; there are none here",
        ),
        Field::obeyed(4, "max_stream_duration"),
        Field::harmless(
            5,
            "headers_with_underscores_action",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            6,
            "max_requests_per_connection",
            "is about connections of callers from outside; there are none here",
        ),
        Field::harmless(
            7,
            "max_response_headers_kb",
            "is about connections of callers from outside; there are none here",
        ),
    ],
};

pub(super) static HTTP_FILTER: Message = Message {
    names: &["envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter"],
    fields: &[
        Field::obeyed(1, "name"),
        Field::typed(
            4,
            "typed_config",
            &[&ROUTER, &HTTP_FAULT, &LOCAL_RATE_LIMIT],
        ),
        Field::judged(
            5,
            "config_discovery",
            "refused, or reported when is_optional",
        ),
        Field::obeyed(6, "is_optional"),
        Field::obeyed(7, "disabled"),
    ],
};

pub(super) static ROUTER: Message = Message {
    names: &["envoy.extensions.filters.http.router.v3.Router"],
    fields: &[
        Field::harmless(
            1,
            "dynamic_stats",
            "is about statistics, or headers for Envoy itself",
        ),
        Field::reported(2, "start_child_span", NOT_DONE),
        Field::reported(3, "upstream_log", NOT_DONE),
        Field::harmless(
            4,
            "suppress_envoy_headers",
            "is about statistics, or headers for Envoy itself",
        ),
        Field::reported(5, "strict_check_headers", NOT_DONE),
        Field::reported(6, "respect_expected_rq_timeout", NOT_DONE),
        Field::harmless(
            7,
            "suppress_grpc_request_failure_code_stats",
            "is about statistics, or headers for Envoy itself",
        ),
        Field::refused(
            8,
            "upstream_http_filters",
            "no filter is known that works after the choice of an endpoint",
        ),
        Field::reported(9, "upstream_log_options", NOT_DONE),
        Field::harmless(
            10,
            "reject_connect_request_early_data",
            "is about statistics, or headers for Envoy itself",
        ),
    ],
};

pub(super) static HTTP_FAULT: Message = Message {
    names: &["envoy.extensions.filters.http.fault.v3.HTTPFault"],
    fields: &[
        Field::within(1, "delay", &FAULT_DELAY),
        Field::within(2, "abort", &FAULT_ABORT),
        Field::judged(
            3,
            "upstream_cluster",
            "reported: the faults are not injected at all",
        ),
        Field::within(4, "headers", &HEADER_MATCHER).repeated(),
        Field::judged(
            5,
            "downstream_nodes",
            "reported: the faults are not injected at all",
        ),
        Field::obeyed(6, "max_active_faults"),
        Field::reported(7, "response_rate_limit", NOT_DONE),
        Field::harmless(
            8,
            "delay_percent_runtime",
            "names a run time setting or statistics; there are none",
        ),
        Field::harmless(
            9,
            "abort_percent_runtime",
            "names a run time setting or statistics; there are none",
        ),
        Field::harmless(
            10,
            "delay_duration_runtime",
            "names a run time setting or statistics; there are none",
        ),
        Field::harmless(
            11,
            "abort_http_status_runtime",
            "names a run time setting or statistics; there are none",
        ),
        Field::harmless(
            12,
            "max_active_faults_runtime",
            "names a run time setting or statistics; there are none",
        ),
        Field::harmless(
            13,
            "response_rate_limit_percent_runtime",
            "names a run time setting or statistics; there are none",
        ),
        Field::harmless(
            14,
            "abort_grpc_status_runtime",
            "names a run time setting or statistics; there are none",
        ),
        Field::harmless(
            15,
            "disable_downstream_cluster_stats",
            "names a run time setting or statistics; there are none",
        ),
        Field::harmless(
            16,
            "filter_metadata",
            "names a run time setting or statistics; there are none",
        ),
    ],
};

pub(super) static FAULT_DELAY: Message = Message {
    names: &["envoy.extensions.filters.common.fault.v3.FaultDelay"],
    fields: &[
        Field::obeyed(3, "fixed_delay"),
        Field::within(4, "percentage", &PERCENT),
        Field::obeyed(5, "header_delay"),
    ],
};

pub(super) static FAULT_ABORT: Message = Message {
    names: &["envoy.extensions.filters.http.fault.v3.FaultAbort"],
    fields: &[
        Field::obeyed(2, "http_status"),
        Field::within(3, "percentage", &PERCENT),
        Field::obeyed(4, "header_abort"),
        Field::obeyed(5, "grpc_status"),
    ],
};

pub(super) static PERCENT: Message = Message {
    names: &["envoy.type.v3.FractionalPercent"],
    fields: &[
        Field::obeyed(1, "numerator"),
        Field::obeyed(2, "denominator"),
    ],
};

pub(super) static LOCAL_RATE_LIMIT: Message = Message {
    names: &["envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit"],
    fields: &[
        Field::harmless(
            1,
            "stat_prefix",
            "is about statistics, or about descriptors, which are refused",
        ),
        Field::obeyed(2, "status"),
        Field::obeyed(3, "token_bucket"),
        Field::within(4, "filter_enabled", &RUNTIME_PERCENT),
        Field::within(5, "filter_enforced", &RUNTIME_PERCENT),
        Field::reported(6, "response_headers_to_add", NOT_DONE),
        Field::refused(
            8,
            "descriptors",
            "limits by descriptor are not known here: all calls would share one",
        ),
        Field::harmless(
            9,
            "stage",
            "is about statistics, or about descriptors, which are refused",
        ),
        Field::reported(10, "request_headers_to_add_when_not_enforced", NOT_DONE),
        Field::reported(
            11,
            "local_rate_limit_per_downstream_connection",
            "is not carried out: the limit is the process's",
        ),
        Field::reported(12, "enable_x_ratelimit_headers", NOT_DONE),
        Field::harmless(
            13,
            "vh_rate_limits",
            "is about statistics, or about descriptors, which are refused",
        ),
        Field::harmless(
            14,
            "always_consume_default_token_bucket",
            "is about statistics, or about descriptors, which are refused",
        ),
        Field::reported(15, "rate_limited_as_resource_exhausted", NOT_DONE),
        Field::reported(16, "local_cluster_rate_limit", NOT_DONE),
        Field::refused(
            17,
            "rate_limits",
            "limits by descriptor are not known here: all calls would share one",
        ),
        Field::harmless(
            18,
            "max_dynamic_descriptors",
            "is about statistics, or about descriptors, which are refused",
        ),
    ],
};

pub(super) static RUNTIME_PERCENT: Message = Message {
    names: &["envoy.config.core.v3.RuntimeFractionalPercent"],
    fields: &[
        Field::within(1, "default_value", &PERCENT),
        Field::harmless(
            2,
            "runtime_key",
            "there is no run time configuration: the default holds",
        ),
    ],
};

pub(super) static ROUTES: Message = Message {
    names: &["envoy.config.route.v3.RouteConfiguration"],
    fields: &[
        Field::obeyed(1, "name"),
        Field::within(2, "virtual_hosts", &VIRTUAL_HOST).repeated(),
        Field::reported(3, "internal_only_headers", NOT_DONE),
        Field::reported(
            4,
            "response_headers_to_add",
            "headers are neither added nor removed",
        ),
        Field::reported(
            5,
            "response_headers_to_remove",
            "headers are neither added nor removed",
        ),
        Field::reported(
            6,
            "request_headers_to_add",
            "headers are neither added nor removed",
        ),
        Field::harmless(
            7,
            "validate_clusters",
            "clusters are asked for by their names, and missing ones reported",
        ),
        Field::reported(
            8,
            "request_headers_to_remove",
            "headers are neither added nor removed",
        ),
        Field::refused(9, "vhds", "virtual hosts are not discovered one by one"),
        Field::harmless(
            10,
            "most_specific_header_mutations_wins",
            "headers are neither added nor removed",
        ),
        Field::harmless(
            11,
            "max_direct_response_body_size_bytes",
            "the size of resources is limited",
        ),
        Field::reported(
            12,
            "cluster_specifier_plugins",
            "no plugin is known here; routes that name one are refused",
        ),
        Field::within(13, "request_mirror_policies", &MIRROR).repeated(),
        Field::harmless(
            14,
            "ignore_port_in_host_matching",
            "a port counts only where a domain names one too",
        ),
        Field::refused(
            15,
            "ignore_path_parameters_in_path_matching",
            "path parameters are a part of the path here",
        ),
        Field::typed(
            16,
            "typed_per_filter_config",
            &[&FILTER_CONFIG, &HTTP_FAULT, &LOCAL_RATE_LIMIT],
        )
        .map(),
        Field::harmless(17, "metadata", "name spaces of others"),
        Field::refused(
            18,
            "vhost_header",
            "virtual hosts are chosen by the target's name",
        ),
    ],
};

pub(super) static VIRTUAL_HOST: Message = Message {
    names: &["envoy.config.route.v3.VirtualHost"],
    fields: &[
        Field::obeyed(1, "name"),
        Field::obeyed(2, "domains"),
        Field::within(3, "routes", &ROUTE).repeated(),
        Field::reported(4, "require_tls", NOT_DONE),
        Field::harmless(5, "virtual_clusters", "is about statistics"),
        Field::reported(6, "rate_limits", NOT_DONE),
        Field::reported(
            7,
            "request_headers_to_add",
            "headers are neither added nor removed",
        ),
        Field::reported(8, "cors", NOT_DONE),
        Field::reported(
            10,
            "response_headers_to_add",
            "headers are neither added nor removed",
        ),
        Field::reported(
            11,
            "response_headers_to_remove",
            "headers are neither added nor removed",
        ),
        Field::reported(
            13,
            "request_headers_to_remove",
            "headers are neither added nor removed",
        ),
        Field::reported(
            14,
            "include_request_attempt_count",
            "headers are neither added nor removed",
        ),
        Field::typed(
            15,
            "typed_per_filter_config",
            &[&FILTER_CONFIG, &HTTP_FAULT, &LOCAL_RATE_LIMIT],
        )
        .map(),
        Field::within(16, "retry_policy", &RETRY),
        Field::reported(17, "hedge_policy", NOT_DONE),
        Field::reported(18, "per_request_buffer_limit_bytes", NOT_DONE).unless_zero(),
        Field::reported(
            19,
            "include_attempt_count_in_response",
            "headers are neither added nor removed",
        ),
        Field::reported(20, "retry_policy_typed_config", NOT_DONE),
        Field::refused(21, "matcher", "routes are read as a list"),
        Field::within(22, "request_mirror_policies", &MIRROR).repeated(),
        Field::reported(
            23,
            "include_is_timeout_retry_header",
            "headers are neither added nor removed",
        ),
        Field::harmless(24, "metadata", "name spaces of others"),
        Field::reported(25, "request_body_buffer_limit", NOT_DONE).unless_zero(),
    ],
};

pub(super) static ROUTE: Message = Message {
    names: &["envoy.config.route.v3.Route"],
    fields: &[
        Field::within(1, "match", &ROUTE_MATCH),
        Field::within(2, "route", &ROUTE_ACTION),
        Field::judged(
            3,
            "redirect",
            "reported, and calls of this route fail with the reason",
        ),
        Field::obeyed(4, "metadata"),
        Field::harmless(5, "decorator", "is about traces and statistics"),
        Field::within(7, "direct_response", &DIRECT_RESPONSE),
        Field::reported(
            9,
            "request_headers_to_add",
            "headers are neither added nor removed",
        ),
        Field::reported(
            10,
            "response_headers_to_add",
            "headers are neither added nor removed",
        ),
        Field::reported(
            11,
            "response_headers_to_remove",
            "headers are neither added nor removed",
        ),
        Field::reported(
            12,
            "request_headers_to_remove",
            "headers are neither added nor removed",
        ),
        Field::typed(
            13,
            "typed_per_filter_config",
            &[&FILTER_CONFIG, &HTTP_FAULT, &LOCAL_RATE_LIMIT],
        )
        .map(),
        Field::obeyed(14, "name"),
        Field::harmless(15, "tracing", "is about traces and statistics"),
        Field::reported(16, "per_request_buffer_limit_bytes", NOT_DONE).unless_zero(),
        Field::judged(
            17,
            "filter_action",
            "reported, and calls of this route fail with the reason",
        ),
        Field::judged(
            18,
            "non_forwarding_action",
            "reported, and calls of this route fail with the reason",
        ),
        Field::harmless(19, "stat_prefix", "is about traces and statistics"),
        Field::reported(20, "request_body_buffer_limit", NOT_DONE).unless_zero(),
    ],
};

pub(super) static ROUTE_MATCH: Message = Message {
    names: &["envoy.config.route.v3.RouteMatch"],
    fields: &[
        Field::obeyed(1, "prefix"),
        Field::obeyed(2, "path"),
        Field::obeyed(4, "case_sensitive"),
        Field::within(6, "headers", &HEADER_MATCHER).repeated(),
        Field::refused(
            7,
            "query_parameters",
            "is no condition known here: without it the route would take other calls",
        ),
        Field::refused(
            8,
            "grpc",
            "is no condition known here: by which protocol a call goes is decided after its route",
        ),
        Field::within(9, "runtime_fraction", &RUNTIME_PERCENT),
        Field::within(10, "safe_regex", &REGEX),
        Field::refused(11, "tls_context", "is not known of a call here"),
        Field::judged(
            12,
            "connect_matcher",
            "reported: no caller sends CONNECT, the route is for none",
        ),
        Field::refused(13, "dynamic_metadata", "is not known of a call here"),
        Field::obeyed(14, "path_separated_prefix"),
        Field::refused(
            15,
            "path_match_policy",
            "no extension for paths is known here",
        ),
        Field::refused(16, "filter_state", "is not known of a call here"),
        Field::refused(
            17,
            "cookies",
            "is no condition known here: without it the route would take other calls",
        ),
    ],
};

pub(super) static HEADER_MATCHER: Message = Message {
    names: &["envoy.config.route.v3.HeaderMatcher"],
    fields: &[
        Field::obeyed(1, "name"),
        Field::obeyed(4, "exact_match"),
        Field::obeyed(6, "range_match"),
        Field::obeyed(7, "present_match"),
        Field::obeyed(8, "invert_match"),
        Field::obeyed(9, "prefix_match"),
        Field::obeyed(10, "suffix_match"),
        Field::within(11, "safe_regex_match", &REGEX),
        Field::obeyed(12, "contains_match"),
        Field::within(13, "string_match", &STRING),
        Field::obeyed(14, "treat_missing_header_as_empty"),
    ],
};

pub(super) static STRING: Message = Message {
    names: &["envoy.type.matcher.v3.StringMatcher"],
    fields: &[
        Field::obeyed(1, "exact"),
        Field::obeyed(2, "prefix"),
        Field::obeyed(3, "suffix"),
        Field::within(5, "safe_regex", &REGEX),
        Field::obeyed(6, "ignore_case"),
        Field::obeyed(7, "contains"),
        Field::judged(8, "custom", "refused: no custom matcher is known here"),
    ],
};

pub(super) static REGEX: Message = Message {
    names: &["envoy.type.matcher.v3.RegexMatcher"],
    fields: &[
        Field::harmless(
            1,
            "google_re2",
            "regular expressions have RE2's grammar anyway",
        ),
        Field::obeyed(2, "regex"),
    ],
};

pub(super) static ROUTE_ACTION: Message = Message {
    names: &["envoy.config.route.v3.RouteAction"],
    fields: &[
        Field::obeyed(1, "cluster"),
        Field::judged(
            2,
            "cluster_header",
            "reported: only clusters are found that other routes name too",
        ),
        Field::within(3, "weighted_clusters", &WEIGHTED),
        Field::refused(
            4,
            "metadata_match",
            "subsets are not known here: the call would go to any endpoint of the cluster",
        ),
        Field::refused(
            5,
            "prefix_rewrite",
            "paths are not rewritten here: the call would ask for something else",
        ),
        Field::refused(
            6,
            "host_rewrite_literal",
            "the authority is not rewritten here: the call would go to another virtual server",
        ),
        Field::refused(
            7,
            "auto_host_rewrite",
            "the authority is not rewritten here: the call would go to another virtual server",
        )
        .unless_zero(),
        Field::obeyed(8, "timeout"),
        Field::within(9, "retry_policy", &RETRY),
        Field::reported(11, "priority", NOT_DONE),
        Field::reported(13, "rate_limits", NOT_DONE),
        Field::reported(14, "include_vh_rate_limits", NOT_DONE).unless_zero(),
        Field::within(15, "hash_policy", &HASH).repeated(),
        Field::reported(17, "cors", NOT_DONE),
        Field::harmless(
            20,
            "cluster_not_found_response_code",
            "a call to a cluster that is not there fails at once, not sent",
        ),
        Field::judged(
            23,
            "max_grpc_timeout",
            "reported unless zero: the caller's deadline holds",
        ),
        Field::reported(24, "idle_timeout", NOT_DONE).unless_zero(),
        Field::reported(25, "upgrade_configs", NOT_DONE),
        Field::reported(
            26,
            "internal_redirect_action",
            "is not carried out: a redirect is the caller's answer",
        ),
        Field::reported(27, "hedge_policy", NOT_DONE),
        Field::reported(28, "grpc_timeout_offset", NOT_DONE).unless_zero(),
        Field::refused(
            29,
            "host_rewrite_header",
            "the authority is not rewritten here: the call would go to another virtual server",
        ),
        Field::within(30, "request_mirror_policies", &MIRROR).repeated(),
        Field::reported(
            31,
            "max_internal_redirects",
            "is not carried out: a redirect is the caller's answer",
        )
        .unless_zero(),
        Field::refused(
            32,
            "regex_rewrite",
            "paths are not rewritten here: the call would ask for something else",
        ),
        Field::reported(33, "retry_policy_typed_config", NOT_DONE),
        Field::reported(
            34,
            "internal_redirect_policy",
            "is not carried out: a redirect is the caller's answer",
        ),
        Field::refused(
            35,
            "host_rewrite_path_regex",
            "the authority is not rewritten here: the call would go to another virtual server",
        ),
        Field::within(36, "max_stream_duration", &MAX_STREAM),
        Field::refused(37, "cluster_specifier_plugin", "no plugin is known here"),
        Field::harmless(
            38,
            "append_x_forwarded_host",
            "only together with a rewritten host, which is refused",
        ),
        Field::refused(
            39,
            "inline_cluster_specifier_plugin",
            "no plugin is known here",
        ),
        Field::harmless(40, "early_data_policy", "no early data is sent"),
        Field::refused(
            41,
            "path_rewrite_policy",
            "paths are not rewritten here: the call would ask for something else",
        ),
        Field::reported(42, "flush_timeout", NOT_DONE).unless_zero(),
        Field::refused(
            44,
            "host_rewrite",
            "the authority is not rewritten here: the call would go to another virtual server",
        ),
        Field::refused(
            45,
            "path_rewrite",
            "paths are not rewritten here: the call would ask for something else",
        ),
    ],
};

pub(super) static WEIGHTED: Message = Message {
    names: &["envoy.config.route.v3.WeightedCluster"],
    fields: &[
        Field::within(1, "clusters", &CLUSTER_WEIGHT).repeated(),
        Field::harmless(
            2,
            "runtime_key_prefix",
            "there is no run time configuration",
        ),
        Field::harmless(3, "total_weight", "the weights are added up"),
        Field::refused(
            4,
            "header_name",
            "the choice is made at random here: a caller would not stay with one version",
        ),
        Field::refused(
            5,
            "use_hash_policy",
            "the choice is made at random here: a caller would not stay with one version",
        )
        .unless_zero(),
    ],
};

pub(super) static CLUSTER_WEIGHT: Message = Message {
    names: &["envoy.config.route.v3.WeightedCluster.ClusterWeight"],
    fields: &[
        Field::obeyed(1, "name"),
        Field::obeyed(2, "weight"),
        Field::refused(
            3,
            "metadata_match",
            "subsets are not known here: the call would go to any endpoint of the cluster",
        ),
        Field::reported(
            4,
            "request_headers_to_add",
            "headers are neither added nor removed",
        ),
        Field::reported(
            5,
            "response_headers_to_add",
            "headers are neither added nor removed",
        ),
        Field::reported(
            6,
            "response_headers_to_remove",
            "headers are neither added nor removed",
        ),
        Field::reported(
            9,
            "request_headers_to_remove",
            "headers are neither added nor removed",
        ),
        Field::typed(
            10,
            "typed_per_filter_config",
            &[&FILTER_CONFIG, &HTTP_FAULT, &LOCAL_RATE_LIMIT],
        )
        .map(),
        Field::refused(
            11,
            "host_rewrite_literal",
            "the authority is not rewritten here: the call would go to another virtual server",
        ),
        Field::refused(12, "cluster_header", "the cluster is named by name only"),
    ],
};

pub(super) static RETRY: Message = Message {
    names: &["envoy.config.route.v3.RetryPolicy"],
    fields: &[
        Field::judged(
            1,
            "retry_on",
            "obeyed; conditions that are not known here are reported",
        ),
        Field::obeyed(2, "num_retries"),
        Field::obeyed(3, "per_try_timeout"),
        Field::reported(4, "retry_priority", NOT_DONE),
        Field::harmless(
            5,
            "retry_host_predicate",
            "another try always prefers an endpoint that was not tried",
        ),
        Field::harmless(
            6,
            "host_selection_retry_max_attempts",
            "another try always prefers an endpoint that was not tried",
        ),
        Field::obeyed(7, "retriable_status_codes"),
        Field::within(8, "retry_back_off", &BACK_OFF),
        Field::reported(9, "retriable_headers", NOT_DONE),
        Field::refused(
            10,
            "retriable_request_headers",
            "more calls would be repeated than is allowed",
        ),
        Field::reported(11, "rate_limited_retry_back_off", NOT_DONE),
        Field::reported(12, "retry_options_predicates", NOT_DONE),
        Field::reported(13, "per_try_idle_timeout", NOT_DONE).unless_zero(),
    ],
};

pub(super) static BACK_OFF: Message = Message {
    names: &["envoy.config.route.v3.RetryPolicy.RetryBackOff"],
    fields: &[
        Field::obeyed(1, "base_interval"),
        Field::obeyed(2, "max_interval"),
    ],
};

pub(super) static HASH: Message = Message {
    names: &["envoy.config.route.v3.RouteAction.HashPolicy"],
    fields: &[
        Field::within(1, "header", &HASH_HEADER),
        Field::judged(2, "cookie", "reported: calls are not hashed by it"),
        Field::judged(
            3,
            "connection_properties",
            "reported: calls are not hashed by it",
        ),
        Field::obeyed(4, "terminal"),
        Field::judged(5, "query_parameter", "reported: calls are not hashed by it"),
        Field::judged(
            6,
            "filter_state",
            "reported unless it is io.grpc.channel_id",
        ),
    ],
};

pub(super) static HASH_HEADER: Message = Message {
    names: &["envoy.config.route.v3.RouteAction.HashPolicy.Header"],
    fields: &[
        Field::obeyed(1, "header_name"),
        Field::within(2, "regex_rewrite", &SUBSTITUTE),
    ],
};

pub(super) static SUBSTITUTE: Message = Message {
    names: &["envoy.type.matcher.v3.RegexMatchAndSubstitute"],
    fields: &[
        Field::within(1, "pattern", &REGEX),
        Field::obeyed(2, "substitution"),
    ],
};

pub(super) static MIRROR: Message = Message {
    names: &["envoy.config.route.v3.RouteAction.RequestMirrorPolicy"],
    fields: &[
        Field::obeyed(1, "cluster"),
        Field::within(3, "runtime_fraction", &RUNTIME_PERCENT),
        Field::harmless(
            4,
            "trace_sampled",
            "is about traces, or a suffix that is never added",
        ),
        Field::judged(5, "cluster_header", "reported: the copies are not sent"),
        Field::harmless(
            6,
            "disable_shadow_host_suffix_append",
            "is about traces, or a suffix that is never added",
        ),
        Field::reported(
            7,
            "request_headers_mutations",
            "headers are neither added nor removed",
        ),
        Field::reported(
            8,
            "host_rewrite_literal",
            "headers are neither added nor removed",
        ),
    ],
};

pub(super) static MAX_STREAM: Message = Message {
    names: &["envoy.config.route.v3.RouteAction.MaxStreamDuration"],
    fields: &[
        Field::obeyed(1, "max_stream_duration"),
        Field::obeyed(2, "grpc_timeout_header_max"),
        Field::reported(3, "grpc_timeout_header_offset", NOT_DONE).unless_zero(),
    ],
};

pub(super) static DIRECT_RESPONSE: Message = Message {
    names: &["envoy.config.route.v3.DirectResponseAction"],
    fields: &[
        Field::obeyed(1, "status"),
        Field::within(2, "body", &DATA),
        Field::reported(3, "body_format", NOT_DONE),
    ],
};

pub(super) static DATA: Message = Message {
    names: &["envoy.config.core.v3.DataSource"],
    fields: &[
        Field::judged(1, "filename", "reported: the body is empty"),
        Field::obeyed(2, "inline_bytes"),
        Field::obeyed(3, "inline_string"),
        Field::judged(4, "environment_variable", "reported: the body is empty"),
        Field::harmless(5, "watched_directory", "files are not read"),
    ],
};

pub(super) static FILTER_CONFIG: Message = Message {
    names: &["envoy.config.route.v3.FilterConfig"],
    fields: &[
        Field::typed(1, "config", &[&HTTP_FAULT, &LOCAL_RATE_LIMIT]),
        Field::obeyed(2, "is_optional"),
        Field::obeyed(3, "disabled"),
    ],
};

pub(super) static CLUSTER: Message = Message {
    names: &["envoy.config.cluster.v3.Cluster"],
    fields: &[
        Field::obeyed(1, "name"),
        Field::obeyed(2, "type"),
        Field::within(3, "eds_cluster_config", &EDS_CONFIG),
        Field::obeyed(4, "connect_timeout"),
        Field::harmless(
            5,
            "per_connection_buffer_limit_bytes",
            "what waits for a peer is limited by the process's own settings",
        ),
        Field::judged(
            6,
            "lb_policy",
            "obeyed; MAGLEV is reported, a ring is used instead",
        ),
        Field::within(8, "health_checks", &HEALTH_CHECK).repeated(),
        Field::reported(9, "max_requests_per_connection", NOT_DONE).unless_zero(),
        Field::within(10, "circuit_breakers", &CIRCUIT),
        Field::reported(
            13,
            "http_protocol_options",
            "HTTP/2 is spoken, or what metadata names; never HTTP/1",
        ),
        Field::within(14, "http2_protocol_options", &HTTP2),
        Field::reported(
            16,
            "dns_refresh_rate",
            "is not carried out: the host's resolver is asked again every 30 s",
        )
        .unless_zero(),
        Field::reported(
            17,
            "dns_lookup_family",
            "is not carried out: the host's resolver is asked again every 30 s",
        ),
        Field::reported(
            18,
            "dns_resolvers",
            "is not carried out: the host's resolver is asked again every 30 s",
        ),
        Field::within(19, "outlier_detection", &OUTLIER),
        Field::harmless(
            20,
            "cleanup_interval",
            "a cluster is used when it is complete",
        ),
        Field::reported(21, "upstream_bind_config", NOT_DONE),
        Field::refused(
            22,
            "lb_subset_config",
            "subsets are not known here: calls would go to any endpoint of the cluster",
        ),
        Field::within(23, "ring_hash_lb_config", &RING_CONFIG),
        Field::within(24, "transport_socket", &SOCKET),
        Field::obeyed(25, "metadata"),
        Field::reported(
            26,
            "protocol_selection",
            "HTTP/2 is spoken, or what metadata names; never HTTP/1",
        ),
        Field::within(27, "common_lb_config", &COMMON_LB),
        Field::harmless(28, "alt_stat_name", "is about statistics"),
        Field::within(29, "common_http_protocol_options", &CLUSTER_OPTIONS),
        Field::reported(30, "upstream_connection_options", NOT_DONE),
        Field::reported(31, "close_connections_on_host_health_failure", NOT_DONE),
        Field::reported(32, "ignore_health_on_host_removal", NOT_DONE),
        Field::within(33, "load_assignment", &ASSIGNMENT),
        Field::harmless(
            34,
            "original_dst_lb_config",
            "is about ORIGINAL_DST, which is refused",
        ),
        Field::typed(36, "typed_extension_protocol_options", &[&UPSTREAM_HTTP]).map(),
        Field::within(37, "least_request_lb_config", &LEAST_CONFIG),
        Field::within(38, "cluster_type", &CLUSTER_TYPE),
        Field::reported(
            39,
            "respect_dns_ttl",
            "is not carried out: the host's resolver is asked again every 30 s",
        ),
        Field::reported(40, "filters", NOT_DONE),
        Field::within(41, "load_balancing_policy", &LB_LIST),
        Field::reported(42, "lrs_server", NOT_DONE),
        Field::refused(
            43,
            "transport_socket_matches",
            "one transport socket holds for all endpoints: some would be spoken to in clear text",
        ),
        Field::reported(
            44,
            "dns_failure_refresh_rate",
            "is not carried out: the host's resolver is asked again every 30 s",
        ),
        Field::reported(
            45,
            "use_tcp_for_dns_lookups",
            "is not carried out: the host's resolver is asked again every 30 s",
        ),
        Field::within(46, "upstream_http_protocol_options", &UPSTREAM_OPTIONS),
        Field::harmless(47, "track_timeout_budgets", "is about statistics"),
        Field::reported(48, "upstream_config", NOT_DONE),
        Field::harmless(49, "track_cluster_stats", "is about statistics"),
        Field::harmless(
            50,
            "preconnect_policy",
            "every endpoint is connected to ahead of the first call",
        ),
        Field::harmless(
            51,
            "connection_pool_per_downstream_connection",
            "there are no connections of callers from outside",
        ),
        Field::reported(52, "maglev_lb_config", "a ring is used instead"),
        Field::reported(
            53,
            "dns_resolution_config",
            "is not carried out: the host's resolver is asked again every 30 s",
        ),
        Field::harmless(
            54,
            "wait_for_warm_on_init",
            "a cluster is used when it is complete",
        ),
        Field::reported(
            55,
            "typed_dns_resolver_config",
            "is not carried out: the host's resolver is asked again every 30 s",
        ),
        Field::within(56, "round_robin_lb_config", &ROUND_CONFIG),
        Field::reported(57, "lrs_report_endpoint_metrics", NOT_DONE),
        Field::reported(
            58,
            "dns_jitter",
            "is not carried out: the host's resolver is asked again every 30 s",
        )
        .unless_zero(),
        Field::refused(
            59,
            "transport_socket_matcher",
            "one transport socket holds for all endpoints: some would be spoken to in clear text",
        ),
    ],
};

pub(super) static EDS_CONFIG: Message = Message {
    names: &["envoy.config.cluster.v3.Cluster.EdsClusterConfig"],
    fields: &[
        Field::within(1, "eds_config", &SOURCE),
        Field::obeyed(2, "service_name"),
    ],
};

pub(super) static CLUSTER_TYPE: Message = Message {
    names: &["envoy.config.cluster.v3.Cluster.CustomClusterType"],
    fields: &[
        Field::harmless(1, "name", "the type of typed_config says it"),
        Field::typed(2, "typed_config", &[&AGGREGATE]),
    ],
};

pub(super) static AGGREGATE: Message = Message {
    names: &["envoy.extensions.clusters.aggregate.v3.ClusterConfig"],
    fields: &[Field::obeyed(1, "clusters")],
};

pub(super) static CIRCUIT: Message = Message {
    names: &["envoy.config.cluster.v3.CircuitBreakers"],
    fields: &[
        Field::within(1, "thresholds", &THRESHOLDS).repeated(),
        Field::reported(2, "per_host_thresholds", NOT_DONE),
    ],
};

pub(super) static THRESHOLDS: Message = Message {
    names: &["envoy.config.cluster.v3.CircuitBreakers.Thresholds"],
    fields: &[
        Field::judged(1, "priority", "thresholds of HIGH are reported"),
        Field::obeyed(2, "max_connections"),
        Field::obeyed(3, "max_pending_requests"),
        Field::obeyed(4, "max_requests"),
        Field::obeyed(5, "max_retries"),
        Field::harmless(
            6,
            "track_remaining",
            "is about statistics, or pools, of which there is one",
        ),
        Field::harmless(
            7,
            "max_connection_pools",
            "is about statistics, or pools, of which there is one",
        ),
        Field::within(8, "retry_budget", &BUDGET),
    ],
};

pub(super) static BUDGET: Message = Message {
    names: &["envoy.config.cluster.v3.CircuitBreakers.Thresholds.RetryBudget"],
    fields: &[
        Field::obeyed(1, "budget_percent"),
        Field::obeyed(2, "min_retry_concurrency"),
    ],
};

pub(super) static OUTLIER: Message = Message {
    names: &["envoy.config.cluster.v3.OutlierDetection"],
    fields: &[
        Field::obeyed(1, "consecutive_5xx"),
        Field::obeyed(2, "interval"),
        Field::obeyed(3, "base_ejection_time"),
        Field::obeyed(4, "max_ejection_percent"),
        Field::judged(
            5,
            "enforcing_consecutive_5xx",
            "0 and 100 are obeyed; between them all are left out, which is reported",
        ),
        Field::obeyed(6, "enforcing_success_rate"),
        Field::obeyed(7, "success_rate_minimum_hosts"),
        Field::obeyed(8, "success_rate_request_volume"),
        Field::obeyed(9, "success_rate_stdev_factor"),
        Field::obeyed(10, "consecutive_gateway_failure"),
        Field::judged(
            11,
            "enforcing_consecutive_gateway_failure",
            "0 and 100 are obeyed; between them all are left out, which is reported",
        ),
        Field::obeyed(12, "split_external_local_origin_errors"),
        Field::obeyed(13, "consecutive_local_origin_failure"),
        Field::judged(
            14,
            "enforcing_consecutive_local_origin_failure",
            "0 and 100 are obeyed; between them all are left out, which is reported",
        ),
        Field::judged(
            15,
            "enforcing_local_origin_success_rate",
            "reported when above zero: rates count answers only",
        ),
        Field::obeyed(16, "failure_percentage_threshold"),
        Field::obeyed(17, "enforcing_failure_percentage"),
        Field::judged(
            18,
            "enforcing_failure_percentage_local_origin",
            "reported when above zero: rates count answers only",
        ),
        Field::obeyed(19, "failure_percentage_minimum_hosts"),
        Field::obeyed(20, "failure_percentage_request_volume"),
        Field::obeyed(21, "max_ejection_time"),
        Field::obeyed(22, "max_ejection_time_jitter"),
        Field::reported(23, "successful_active_health_check_uneject_host", NOT_DONE).unless_zero(),
        Field::reported(24, "monitors", NOT_DONE),
        Field::harmless(25, "always_eject_one_host", "one always may be left out"),
    ],
};

pub(super) static COMMON_LB: Message = Message {
    names: &["envoy.config.cluster.v3.Cluster.CommonLbConfig"],
    fields: &[
        Field::obeyed(1, "healthy_panic_threshold"),
        Field::reported(2, "zone_aware_lb_config", NOT_DONE),
        Field::obeyed(3, "locality_weighted_lb_config"),
        Field::harmless(4, "update_merge_window", "changes are taken at once"),
        Field::reported(5, "ignore_new_hosts_until_first_hc", NOT_DONE),
        Field::reported(6, "close_connections_on_host_set_change", NOT_DONE),
        Field::within(7, "consistent_hashing_lb_config", &HASHING_CONFIG),
        Field::reported(8, "override_host_status", NOT_DONE),
    ],
};

pub(super) static HASHING_CONFIG: Message = Message {
    names: &["envoy.config.cluster.v3.Cluster.CommonLbConfig.ConsistentHashingLbConfig"],
    fields: &[
        Field::reported(1, "use_hostname_for_hashing", NOT_DONE),
        Field::reported(2, "hash_balance_factor", NOT_DONE).unless_zero(),
    ],
};

pub(super) static ROUND_CONFIG: Message = Message {
    names: &["envoy.config.cluster.v3.Cluster.RoundRobinLbConfig"],
    fields: &[Field::reported(1, "slow_start_config", NOT_DONE)],
};

pub(super) static LEAST_CONFIG: Message = Message {
    names: &["envoy.config.cluster.v3.Cluster.LeastRequestLbConfig"],
    fields: &[
        Field::obeyed(1, "choice_count"),
        Field::reported(2, "active_request_bias", NOT_DONE),
        Field::reported(3, "slow_start_config", NOT_DONE),
    ],
};

pub(super) static RING_CONFIG: Message = Message {
    names: &["envoy.config.cluster.v3.Cluster.RingHashLbConfig"],
    fields: &[
        Field::obeyed(1, "minimum_ring_size"),
        Field::judged(3, "hash_function", "refused unless XX_HASH"),
        Field::obeyed(4, "maximum_ring_size"),
    ],
};

pub(super) static LB_LIST: Message = Message {
    names: &["envoy.config.cluster.v3.LoadBalancingPolicy"],
    fields: &[Field::within(1, "policies", &LB_POLICY).repeated()],
};

pub(super) static LB_POLICY: Message = Message {
    names: &["envoy.config.cluster.v3.LoadBalancingPolicy.Policy"],
    fields: &[Field::within(4, "typed_extension_config", &LB_EXTENSION)],
};

pub(super) static LB_EXTENSION: Message = Message {
    names: &["envoy.config.core.v3.TypedExtensionConfig"],
    fields: &[
        Field::harmless(1, "name", "the type of typed_config says it"),
        Field::typed(
            2,
            "typed_config",
            &[
                &ROUND_ROBIN,
                &LEAST_REQUEST,
                &RING_HASH,
                &MAGLEV,
                &RANDOM,
                &PICK_FIRST,
                &CLIENT_WEIGHTED,
                &WRR_LOCALITY,
            ],
        ),
    ],
};

pub(super) static ROUND_ROBIN: Message = Message {
    names: &["envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin"],
    fields: &[
        Field::reported(1, "slow_start_config", NOT_DONE),
        Field::within(2, "locality_lb_config", &LOCALITY_LB),
    ],
};

pub(super) static LEAST_REQUEST: Message = Message {
    names: &["envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest"],
    fields: &[
        Field::obeyed(1, "choice_count"),
        Field::reported(2, "active_request_bias", NOT_DONE),
        Field::reported(3, "slow_start_config", NOT_DONE),
        Field::within(4, "locality_lb_config", &LOCALITY_LB),
        Field::judged(5, "enable_full_scan", "reported when true"),
        Field::reported(6, "selection_method", NOT_DONE),
    ],
};

pub(super) static LOCALITY_LB: Message = Message {
    names: &["envoy.extensions.load_balancing_policies.common.v3.LocalityLbConfig"],
    fields: &[
        Field::reported(1, "zone_aware_lb_config", NOT_DONE),
        Field::obeyed(2, "locality_weighted_lb_config"),
    ],
};

pub(super) static RING_HASH: Message = Message {
    names: &["envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash"],
    fields: &[
        Field::judged(1, "hash_function", "refused unless XX_HASH"),
        Field::obeyed(2, "minimum_ring_size"),
        Field::obeyed(3, "maximum_ring_size"),
        Field::reported(4, "use_hostname_for_hashing", NOT_DONE),
        Field::reported(5, "hash_balance_factor", NOT_DONE).unless_zero(),
        Field::reported(6, "consistent_hashing_lb_config", NOT_DONE),
        Field::obeyed(7, "locality_weighted_lb_config"),
    ],
};

pub(super) static MAGLEV: Message = Message {
    names: &["envoy.extensions.load_balancing_policies.maglev.v3.Maglev"],
    fields: &[
        Field::harmless(
            1,
            "table_size",
            "the policy is reported as a whole: a ring is used instead",
        ),
        Field::harmless(
            2,
            "consistent_hashing_lb_config",
            "the policy is reported as a whole: a ring is used instead",
        ),
        Field::harmless(
            3,
            "locality_weighted_lb_config",
            "the policy is reported as a whole: a ring is used instead",
        ),
    ],
};

pub(super) static RANDOM: Message = Message {
    names: &["envoy.extensions.load_balancing_policies.random.v3.Random"],
    fields: &[Field::within(1, "locality_lb_config", &LOCALITY_LB)],
};

pub(super) static PICK_FIRST: Message = Message {
    names: &["envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst"],
    fields: &[Field::reported(1, "shuffle_address_list", NOT_DONE)],
};

pub(super) static CLIENT_WEIGHTED: Message = Message {
    names: &[
        "envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin",
    ],
    fields: &[
        Field::harmless(
            1,
            "enable_oob_load_report",
            "the policy is reported as a whole: endpoints keep their given weights",
        ),
        Field::harmless(
            2,
            "oob_reporting_period",
            "the policy is reported as a whole: endpoints keep their given weights",
        ),
        Field::harmless(
            3,
            "blackout_period",
            "the policy is reported as a whole: endpoints keep their given weights",
        ),
        Field::harmless(
            4,
            "weight_expiration_period",
            "the policy is reported as a whole: endpoints keep their given weights",
        ),
        Field::harmless(
            5,
            "weight_update_period",
            "the policy is reported as a whole: endpoints keep their given weights",
        ),
        Field::harmless(
            6,
            "error_utilization_penalty",
            "the policy is reported as a whole: endpoints keep their given weights",
        ),
        Field::harmless(
            7,
            "metric_names_for_computing_utilization",
            "the policy is reported as a whole: endpoints keep their given weights",
        ),
        Field::harmless(
            8,
            "slow_start_config",
            "the policy is reported as a whole: endpoints keep their given weights",
        ),
    ],
};

pub(super) static WRR_LOCALITY: Message = Message {
    names: &["envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality"],
    fields: &[Field::within(1, "endpoint_picking_policy", &LB_LIST)],
};

pub(super) static HEALTH_CHECK: Message = Message {
    names: &["envoy.config.core.v3.HealthCheck"],
    fields: &[
        Field::obeyed(1, "timeout"),
        Field::obeyed(2, "interval"),
        Field::obeyed(3, "interval_jitter"),
        Field::obeyed(4, "unhealthy_threshold"),
        Field::obeyed(5, "healthy_threshold"),
        Field::reported(6, "alt_port", NOT_DONE).unless_zero(),
        Field::judged(
            7,
            "reuse_connection",
            "reported when false: the connection of calls is used",
        ),
        Field::judged(
            8,
            "http_health_check",
            "reported: only gRPC's health service is asked",
        ),
        Field::judged(
            9,
            "tcp_health_check",
            "reported: only gRPC's health service is asked",
        ),
        Field::within(11, "grpc_health_check", &GRPC_CHECK),
        Field::reported(12, "no_traffic_interval", NOT_DONE).unless_zero(),
        Field::judged(
            13,
            "custom_health_check",
            "reported: only gRPC's health service is asked",
        ),
        Field::reported(14, "unhealthy_interval", NOT_DONE).unless_zero(),
        Field::reported(15, "unhealthy_edge_interval", NOT_DONE).unless_zero(),
        Field::reported(16, "healthy_edge_interval", NOT_DONE).unless_zero(),
        Field::harmless(17, "event_log_path", "is about logs"),
        Field::obeyed(18, "interval_jitter_percent"),
        Field::harmless(19, "always_log_health_check_failures", "is about logs"),
        Field::reported(20, "initial_jitter", NOT_DONE).unless_zero(),
        Field::reported(21, "tls_options", NOT_DONE),
        Field::harmless(22, "event_service", "is about logs"),
        Field::reported(23, "transport_socket_match_criteria", NOT_DONE),
        Field::reported(24, "no_traffic_healthy_interval", NOT_DONE).unless_zero(),
        Field::harmless(25, "event_logger", "is about logs"),
        Field::harmless(26, "always_log_health_check_success", "is about logs"),
    ],
};

pub(super) static GRPC_CHECK: Message = Message {
    names: &["envoy.config.core.v3.HealthCheck.GrpcHealthCheck"],
    fields: &[
        Field::obeyed(1, "service_name"),
        Field::reported(2, "authority", NOT_DONE),
        Field::reported(3, "initial_metadata", NOT_DONE),
    ],
};

pub(super) static SOCKET: Message = Message {
    names: &["envoy.config.core.v3.TransportSocket"],
    fields: &[
        Field::harmless(1, "name", "the type of typed_config says it"),
        Field::typed(3, "typed_config", &[&UPSTREAM_TLS]),
    ],
};

pub(super) static UPSTREAM_TLS: Message = Message {
    names: &["envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"],
    fields: &[
        Field::within(1, "common_tls_context", &COMMON_TLS),
        Field::obeyed(2, "sni"),
        Field::harmless(
            3,
            "allow_renegotiation",
            "TLS is never renegotiated; key usage is checked",
        ),
        Field::reported(4, "max_session_keys", NOT_DONE).unless_zero(),
        Field::harmless(
            5,
            "enforce_rsa_key_usage",
            "TLS is never renegotiated; key usage is checked",
        ),
        Field::refused(
            6,
            "auto_host_sni",
            "the peer's name would not be checked as is asked for",
        ),
        Field::refused(
            7,
            "auto_sni_san_validation",
            "the peer's name would not be checked as is asked for",
        ),
    ],
};

pub(super) static COMMON_TLS: Message = Message {
    names: &["envoy.extensions.transport_sockets.tls.v3.CommonTlsContext"],
    fields: &[
        Field::refused(
            1,
            "tls_params",
            "versions and ciphers cannot be set here: TLS 1.2 and 1.3 with the library's own",
        ),
        Field::reported(
            2,
            "tls_certificates",
            "is not read: certificates come from a provider of the bootstrap",
        ),
        Field::within(3, "validation_context", &VALIDATION),
        Field::harmless(
            4,
            "alpn_protocols",
            "the protocol that is spoken is offered",
        ),
        Field::reported(
            6,
            "tls_certificate_sds_secret_configs",
            "is not read: certificates come from a provider of the bootstrap",
        ),
        Field::judged(
            7,
            "validation_context_sds_secret_config",
            "refused: must name a certificate provider of the bootstrap",
        ),
        Field::within(8, "combined_validation_context", &COMBINED),
        Field::refused(
            9,
            "tls_certificate_certificate_provider",
            "certificates come from a provider of the bootstrap",
        ),
        Field::judged(
            10,
            "validation_context_certificate_provider",
            "refused: must name a certificate provider of the bootstrap",
        ),
        Field::within(
            11,
            "tls_certificate_certificate_provider_instance",
            &PROVIDER,
        ),
        Field::within(
            12,
            "validation_context_certificate_provider_instance",
            &PROVIDER,
        ),
        Field::refused(
            13,
            "custom_handshaker",
            "certificates come from a provider of the bootstrap",
        ),
        Field::within(14, "tls_certificate_provider_instance", &PROVIDER),
        Field::harmless(15, "key_log", "keys are never written"),
        Field::refused(
            16,
            "custom_tls_certificate_selector",
            "certificates come from a provider of the bootstrap",
        ),
    ],
};

pub(super) static COMBINED: Message = Message {
    names: &[
        "envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CombinedCertificateValidationContext",
    ],
    fields: &[
        Field::within(1, "default_validation_context", &VALIDATION),
        Field::refused(
            2,
            "validation_context_sds_secret_config",
            "must name a certificate provider of the bootstrap",
        ),
        Field::refused(
            3,
            "validation_context_certificate_provider",
            "must name a certificate provider of the bootstrap",
        ),
        Field::within(
            4,
            "validation_context_certificate_provider_instance",
            &PROVIDER,
        ),
    ],
};

pub(super) static PROVIDER: Message = Message {
    names: &[
        "envoy.extensions.transport_sockets.tls.v3.CertificateProviderPluginInstance",
        "envoy.extensions.transport_sockets.tls.v3.CommonTlsContext.CertificateProviderInstance",
    ],
    fields: &[
        Field::obeyed(1, "instance_name"),
        Field::harmless(
            2,
            "certificate_name",
            "a provider has one certificate and one set of roots",
        ),
    ],
};

pub(super) static VALIDATION: Message = Message {
    names: &["envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext"],
    fields: &[
        Field::refused(1, "trusted_ca", "cannot be checked here"),
        Field::refused(2, "verify_certificate_hash", "cannot be checked here"),
        Field::refused(3, "verify_certificate_spki", "cannot be checked here"),
        Field::refused(
            6,
            "require_signed_certificate_timestamp",
            "cannot be checked here",
        )
        .unless_zero(),
        Field::refused(7, "crl", "cannot be checked here"),
        Field::reported(
            8,
            "allow_expired_certificate",
            "is not carried out: certificates are always checked",
        ),
        Field::within(9, "match_subject_alt_names", &STRING).repeated(),
        Field::reported(
            10,
            "trust_chain_verification",
            "is not carried out: certificates are always checked",
        ),
        Field::harmless(
            11,
            "watched_directory",
            "is about files and lists that are not read",
        ),
        Field::refused(12, "custom_validator_config", "cannot be checked here"),
        Field::within(13, "ca_certificate_provider_instance", &PROVIDER),
        Field::harmless(
            14,
            "only_verify_leaf_cert_crl",
            "is about files and lists that are not read",
        ),
        Field::refused(
            15,
            "match_typed_subject_alt_names",
            "cannot be checked here",
        ),
        Field::refused(16, "max_verify_depth", "cannot be checked here").unless_zero(),
        Field::obeyed(17, "system_root_certs"),
    ],
};

pub(super) static UPSTREAM_HTTP: Message = Message {
    names: &["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"],
    fields: &[
        Field::within(1, "common_http_protocol_options", &CLUSTER_OPTIONS),
        Field::within(2, "upstream_http_protocol_options", &UPSTREAM_OPTIONS),
        Field::within(3, "explicit_http_config", &EXPLICIT),
        Field::harmless(
            4,
            "use_downstream_protocol_config",
            "there is no protocol of a caller from outside",
        ),
        Field::reported(
            5,
            "auto_config",
            "HTTP/2 is spoken, or what metadata names; never HTTP/1",
        ),
        Field::refused(
            6,
            "http_filters",
            "no filter is known that works after the choice of an endpoint",
        ),
        Field::reported(7, "header_validation_config", NOT_DONE),
        Field::reported(8, "outlier_detection", NOT_DONE),
        Field::reported(9, "request_mirror_policies", NOT_DONE),
        Field::reported(10, "hash_policy", NOT_DONE),
        Field::reported(11, "retry_policy", NOT_DONE),
    ],
};

pub(super) static EXPLICIT: Message = Message {
    names: &["envoy.extensions.upstreams.http.v3.HttpProtocolOptions.ExplicitHttpConfig"],
    fields: &[
        Field::reported(
            1,
            "http_protocol_options",
            "HTTP/2 is spoken, or what metadata names; never HTTP/1",
        ),
        Field::within(2, "http2_protocol_options", &HTTP2),
        Field::reported(
            3,
            "http3_protocol_options",
            "HTTP/2 is spoken, or what metadata names; never HTTP/1",
        ),
    ],
};

pub(super) static CLUSTER_OPTIONS: Message = Message {
    names: &["envoy.config.core.v3.HttpProtocolOptions"],
    fields: &[
        Field::reported(1, "idle_timeout", NOT_DONE).unless_zero(),
        Field::reported(2, "max_headers_count", NOT_DONE).unless_zero(),
        Field::reported(3, "max_connection_duration", NOT_DONE).unless_zero(),
        Field::reported(4, "max_stream_duration", NOT_DONE).unless_zero(),
        Field::reported(5, "headers_with_underscores_action", NOT_DONE),
        Field::reported(6, "max_requests_per_connection", NOT_DONE).unless_zero(),
        Field::reported(7, "max_response_headers_kb", NOT_DONE).unless_zero(),
    ],
};

pub(super) static UPSTREAM_OPTIONS: Message = Message {
    names: &["envoy.config.core.v3.UpstreamHttpProtocolOptions"],
    fields: &[
        Field::reported(1, "auto_sni", NOT_DONE),
        Field::refused(
            2,
            "auto_san_validation",
            "the peer's name would not be checked as is asked for",
        ),
        Field::reported(3, "override_auto_sni_header", NOT_DONE),
    ],
};

pub(super) static HTTP2: Message = Message {
    names: &["envoy.config.core.v3.Http2ProtocolOptions"],
    fields: &[
        Field::reported(1, "hpack_table_size", "is not carried out: limits and keep-alive of connections are the process's own settings").unless_zero(),
        Field::reported(2, "max_concurrent_streams", "is not carried out: limits and keep-alive of connections are the process's own settings").unless_zero(),
        Field::reported(3, "initial_stream_window_size", "is not carried out: limits and keep-alive of connections are the process's own settings").unless_zero(),
        Field::reported(4, "initial_connection_window_size", "is not carried out: limits and keep-alive of connections are the process's own settings").unless_zero(),
        Field::reported(5, "allow_connect", "is not carried out: limits and keep-alive of connections are the process's own settings"),
        Field::reported(6, "allow_metadata", "is not carried out: limits and keep-alive of connections are the process's own settings"),
        Field::harmless(7, "max_outbound_frames", "is about what is taken from a peer, which the process's own limits bound"),
        Field::harmless(8, "max_outbound_control_frames", "is about what is taken from a peer, which the process's own limits bound"),
        Field::harmless(9, "max_consecutive_inbound_frames_with_empty_payload", "is about what is taken from a peer, which the process's own limits bound"),
        Field::harmless(10, "max_inbound_priority_frames_per_stream", "is about what is taken from a peer, which the process's own limits bound"),
        Field::harmless(11, "max_inbound_window_update_frames_per_data_frame_sent", "is about what is taken from a peer, which the process's own limits bound"),
        Field::harmless(12, "stream_error_on_invalid_http_messaging", "is about what is taken from a peer, which the process's own limits bound"),
        Field::reported(13, "custom_settings_parameters", "is not carried out: limits and keep-alive of connections are the process's own settings"),
        Field::harmless(14, "override_stream_error_on_invalid_http_message", "is about what is taken from a peer, which the process's own limits bound"),
        Field::reported(15, "connection_keepalive", "is not carried out: limits and keep-alive of connections are the process's own settings"),
        Field::harmless(16, "use_oghttp2_codec", "is about what is taken from a peer, which the process's own limits bound"),
        Field::reported(17, "max_metadata_size", "is not carried out: limits and keep-alive of connections are the process's own settings").unless_zero(),
        Field::harmless(18, "enable_huffman_encoding", "is about what is taken from a peer, which the process's own limits bound"),
    ],
};

pub(super) static ASSIGNMENT: Message = Message {
    names: &["envoy.config.endpoint.v3.ClusterLoadAssignment"],
    fields: &[
        Field::obeyed(1, "cluster_name"),
        Field::within(2, "endpoints", &LOCALITY).repeated(),
        Field::within(4, "policy", &ASSIGNMENT_POLICY),
        Field::within(5, "named_endpoints", &ENDPOINT).map(),
    ],
};

pub(super) static ASSIGNMENT_POLICY: Message = Message {
    names: &["envoy.config.endpoint.v3.ClusterLoadAssignment.Policy"],
    fields: &[
        Field::within(2, "drop_overloads", &DROP).repeated(),
        Field::obeyed(3, "overprovisioning_factor"),
        Field::reported(4, "endpoint_stale_after", NOT_DONE).unless_zero(),
        Field::reported(6, "weighted_priority_health", NOT_DONE),
    ],
};

pub(super) static DROP: Message = Message {
    names: &["envoy.config.endpoint.v3.ClusterLoadAssignment.Policy.DropOverload"],
    fields: &[
        Field::obeyed(1, "category"),
        Field::within(2, "drop_percentage", &PERCENT),
    ],
};

pub(super) static LOCALITY: Message = Message {
    names: &["envoy.config.endpoint.v3.LocalityLbEndpoints"],
    fields: &[
        Field::obeyed(1, "locality"),
        Field::within(2, "lb_endpoints", &LB_ENDPOINT).repeated(),
        Field::obeyed(3, "load_balancing_weight"),
        Field::obeyed(5, "priority"),
        Field::reported(6, "proximity", NOT_DONE).unless_zero(),
        Field::within(7, "load_balancer_endpoints", &LB_ENDPOINTS),
        Field::judged(
            8,
            "leds_cluster_locality_config",
            "refused: endpoints are not discovered one by one",
        ),
        Field::harmless(9, "metadata", "name spaces of others"),
    ],
};

pub(super) static LB_ENDPOINTS: Message = Message {
    names: &["envoy.config.endpoint.v3.LocalityLbEndpoints.LbEndpointList"],
    fields: &[Field::within(1, "lb_endpoints", &LB_ENDPOINT).repeated()],
};

pub(super) static LB_ENDPOINT: Message = Message {
    names: &["envoy.config.endpoint.v3.LbEndpoint"],
    fields: &[
        Field::within(1, "endpoint", &ENDPOINT),
        Field::obeyed(2, "health_status"),
        Field::obeyed(3, "metadata"),
        Field::obeyed(4, "load_balancing_weight"),
        Field::obeyed(5, "endpoint_name"),
    ],
};

pub(super) static ENDPOINT: Message = Message {
    names: &["envoy.config.endpoint.v3.Endpoint"],
    fields: &[
        Field::within(1, "address", &ADDRESS),
        Field::reported(2, "health_check_config", NOT_DONE),
        Field::obeyed(3, "hostname"),
        Field::reported(4, "additional_addresses", NOT_DONE),
    ],
};

pub(super) static ADDRESS: Message = Message {
    names: &["envoy.config.core.v3.Address"],
    fields: &[
        Field::within(1, "socket_address", &SOCKET_ADDRESS),
        Field::obeyed(2, "pipe"),
        Field::judged(
            3,
            "envoy_internal_address",
            "refused: is an address within Envoy",
        ),
    ],
};

pub(super) static SOCKET_ADDRESS: Message = Message {
    names: &["envoy.config.core.v3.SocketAddress"],
    fields: &[
        Field::obeyed(1, "protocol"),
        Field::obeyed(2, "address"),
        Field::obeyed(3, "port_value"),
        Field::judged(4, "named_port", "refused: is not looked up"),
        Field::reported(5, "resolver_name", NOT_DONE),
        Field::harmless(6, "ipv4_compat", "is about sockets that are listened at"),
        Field::refused(
            7,
            "network_namespace_filepath",
            "sockets are made in the process's own network name space",
        ),
    ],
};
