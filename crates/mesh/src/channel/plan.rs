//! What a target's requests go through: its routes, ready to use.

use super::cluster::{ClusterRuntime, Standing};
use crate::config::{
    self, ClusterChoice, Fraction, RateLimit, Resolution, RouteAction, Snapshot, Target, Transport,
};
use crate::policy::outcome::Answer;
use crate::policy::protect::rate_limit::TokenBucket;
use crate::policy::random::Random;
use crate::policy::route::RequestHead;
use crate::policy::route::hash_policy::Hasher;
use crate::policy::route::weighted::Weighted;
use crate::policy::timeline::Timeline;
use crate::policy::{resolve, route};
use corewire_message::{Body, CallError, Headers, Operation, Origin, Response};
use std::collections::HashMap;
use std::sync::Arc;

/// All that holds for a target's requests; never changes.
pub(crate) struct Plan {
    pub(crate) target: Arc<str>,
    pub(crate) version: u64,
    known: Known,
    pub(crate) clusters: Vec<Arc<ClusterRuntime>>,
    /// For routes whose cluster a header names.
    by_name: HashMap<Arc<str>, usize>,
}

enum Known {
    /// Nothing is known yet; what is waited for.
    Pending(Arc<str>),
    Missing(Arc<str>),
    Routes {
        config: Arc<Target>,
        /// `None`: no virtual host is for this target.
        host: Option<usize>,
        routes: Vec<Prepared>,
    },
}

/// A route with what it needs at hand.
struct Prepared {
    forward: Option<Forwarding>,
}

/// Where a route sends requests.
#[derive(Debug)]
struct Forwarding {
    choice: Choice,
    hasher: Hasher,
    mirrors: Vec<(usize, Fraction)>,
    limit: Option<Limit>,
}

#[derive(Debug)]
enum Choice {
    One(usize),
    Weighted {
        chance: Weighted,
        clusters: Vec<(usize, Option<Limit>)>,
    },
    Header(Arc<str>),
}

/// A rate limit and its tokens.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) config: Arc<RateLimit>,
    pub(crate) bucket: Arc<TokenBucket>,
}

/// What a plan says of a request.
pub(crate) enum Verdict {
    /// It is not known yet: wait for this.
    Pending(Arc<str>),
    /// It is answered here.
    Answer(Result<Response, CallError>),
    /// It goes to a cluster.
    Forward(Chosen),
}

/// A route and a cluster of it, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    route: usize,
    pub(crate) cluster: usize,
    /// Which of several weighted clusters.
    weighted: Option<usize>,
}

/// Makes or finds a cluster by its name.
pub(crate) type FindCluster<'a> =
    dyn FnMut(&Arc<str>, Option<Transport>) -> Arc<ClusterRuntime> + 'a;

impl Plan {
    /// The plan of a target that nothing is known of yet.
    pub(crate) fn pending(target: Arc<str>) -> Self {
        Self {
            target,
            version: 0,
            known: Known::Pending("an answer of the control plane".into()),
            clusters: Vec::new(),
            by_name: HashMap::new(),
        }
    }

    pub(crate) fn new(
        target: Arc<str>,
        snapshot: &Snapshot,
        unknown: &Resolution<()>,
        previous: &Self,
        timeline: Timeline,
        find: &mut FindCluster<'_>,
    ) -> Self {
        let mut plan = Self {
            version: snapshot.version,
            ..Self::pending(target)
        };
        plan.known = match (snapshot.target(&plan.target), unknown) {
            (Some(Resolution::Ready(config)), _) => {
                let mut maker = Maker {
                    plan: &mut plan,
                    snapshot,
                    previous,
                    timeline,
                    find,
                    places: HashMap::new(),
                };
                maker.routes(config)
            }
            (Some(Resolution::Missing(why)), _) | (None, Resolution::Missing(why)) => {
                Known::Missing(Arc::clone(why))
            }
            (Some(Resolution::Pending) | None, _) => Known::Pending(
                snapshot
                    .waits_for
                    .get(&plan.target)
                    .map_or_else(|| format!("Listener {:?}", plan.target).into(), Arc::clone),
            ),
        };
        plan
    }

    /// What happens to a request with this operation and these headers.
    pub(crate) fn decide(
        &self,
        operation: &Operation,
        headers: &Headers,
        random: &mut impl Random,
    ) -> Verdict {
        let target = &self.target;
        let (config, host, routes) = match &self.known {
            Known::Pending(what) => return Verdict::Pending(Arc::clone(what)),
            Known::Missing(why) => {
                return refuse(format!("target {target} is not known: {why}"));
            }
            Known::Routes {
                config,
                host,
                routes,
            } => (config, host, routes),
        };
        let Some(host) = host.and_then(|host| config.routes.virtual_hosts.get(host)) else {
            return refuse(format!(
                "target {target} has no virtual host for its own name"
            ));
        };
        let request = self.head(operation, headers);
        let Some(number) = route::choose(host, &request, random) else {
            return refuse(format!("target {target} has no route for {operation}"));
        };
        let forward = match &host.routes[number].action {
            RouteAction::Forward(_) => routes.get(number).and_then(|it| it.forward.as_ref()),
            RouteAction::Answer { status, body } => {
                let body = Body::copy_from_slice(body);
                return Verdict::Answer(Answer::of_status(*status).into_result("", body));
            }
            RouteAction::Unsupported { reason } => {
                return refuse(format!(
                    "the route of {operation} cannot be carried out: {reason}"
                ));
            }
            #[expect(unreachable_patterns, reason = "an action to come is not guessed")]
            _ => None,
        };
        let Some(forward) = forward else {
            return refuse(format!("the route of {operation} cannot be carried out"));
        };
        let (cluster, weighted) = match &forward.choice {
            Choice::One(cluster) => (*cluster, None),
            Choice::Weighted { chance, clusters } => match chance.draw(random) {
                Some(drawn) => (clusters[drawn].0, Some(drawn)),
                None => return refuse(format!("the route of {operation} has no weights")),
            },
            Choice::Header(name) => {
                let named = route::header::with_field(&request, name, |value| {
                    let named = value.and_then(|value| std::str::from_utf8(value).ok());
                    let named = named.unwrap_or_default();
                    let found = self.by_name.get(named).copied();
                    found.ok_or_else(|| format!("header {name} names no cluster: {named:?}"))
                });
                match named {
                    Ok(cluster) => (cluster, None),
                    Err(why) => return refuse(why),
                }
            }
        };
        match &self.clusters[cluster].standing {
            Standing::Ready => Verdict::Forward(Chosen {
                route: number,
                cluster,
                weighted,
            }),
            Standing::Pending => Verdict::Pending(
                format!("the endpoints of Cluster {:?}", self.clusters[cluster].name).into(),
            ),
            Standing::Missing(why) => refuse(format!(
                "cluster {} is not known: {why}",
                self.clusters[cluster].name
            )),
            Standing::Refused(why) => refuse(format!(
                "cluster {} cannot be used: {why}",
                self.clusters[cluster].name
            )),
        }
    }

    /// A request to this target as conditions see it.
    pub(crate) fn head<'a>(
        &'a self,
        operation: &'a Operation,
        headers: &'a Headers,
    ) -> RequestHead<'a> {
        RequestHead {
            operation,
            headers,
            authority: resolve::host_name(&self.target),
        }
    }

    /// A chosen route's settings.
    pub(crate) fn route(&self, chosen: Chosen) -> Option<RouteView<'_>> {
        let Known::Routes {
            config,
            host,
            routes,
        } = &self.known
        else {
            return None;
        };
        let host = config.routes.virtual_hosts.get((*host)?)?;
        let route = host.routes.get(chosen.route)?;
        let RouteAction::Forward(forward) = &route.action else {
            return None;
        };
        let prepared = routes.get(chosen.route)?.forward.as_ref()?;
        let (mut limit, mut fault) = (prepared.limit.as_ref(), route.fault.as_deref());
        // One of several clusters may have its own instead.
        if let (Some(weighted), Choice::Weighted { clusters, .. }) =
            (chosen.weighted, &prepared.choice)
        {
            if let Some((_, Some(own))) = clusters.get(weighted) {
                limit = Some(own);
            }
            if let ClusterChoice::Weighted { clusters, .. } = &forward.clusters
                && let Some(own) = clusters.get(weighted).and_then(|it| it.fault.as_deref())
            {
                fault = Some(own);
            }
        }
        Some(RouteView {
            forward,
            fault,
            limit,
            hasher: &prepared.hasher,
            mirrors: &prepared.mirrors,
        })
    }

    /// What is known of the target, for people.
    pub(crate) fn describe(&self) -> String {
        match &self.known {
            Known::Pending(what) => format!("not known yet: waits for {what}"),
            Known::Missing(why) => format!("missing: {why}"),
            Known::Routes { host: None, .. } => "no virtual host for it".into(),
            Known::Routes { routes, .. } => format!("{} routes", routes.len()),
        }
    }
}

/// A route as a request sees it.
pub(crate) struct RouteView<'p> {
    pub(crate) forward: &'p config::Forward,
    pub(crate) fault: Option<&'p config::FaultPolicy>,
    pub(crate) limit: Option<&'p Limit>,
    pub(crate) hasher: &'p Hasher,
    pub(crate) mirrors: &'p [(usize, Fraction)],
}

fn refuse(why: String) -> Verdict {
    let error = CallError::not_sent(Origin::Local, why);
    Verdict::Answer(Err(error))
}

struct Maker<'a, 'f> {
    plan: &'a mut Plan,
    snapshot: &'a Snapshot,
    previous: &'a Plan,
    timeline: Timeline,
    find: &'a mut FindCluster<'f>,
    places: HashMap<(Arc<str>, Option<Transport>), usize>,
}

impl Maker<'_, '_> {
    fn routes(&mut self, config: &Arc<Target>) -> Known {
        let hosts = config.routes.virtual_hosts.iter();
        let domains = hosts.map(|host| host.domains.iter().map(|domain| &**domain));
        let host = resolve::virtual_host(domains, resolve::host_name(&self.plan.target));
        let routes = host
            .and_then(|host| config.routes.virtual_hosts.get(host))
            .map_or(&[][..], |host| &host.routes);
        let routes = routes.iter().enumerate().map(|(number, route)| Prepared {
            forward: match &route.action {
                RouteAction::Forward(forward) => Some(self.forward(number, route, forward)),
                _ => None,
            },
        });
        Known::Routes {
            routes: routes.collect(),
            host,
            config: Arc::clone(config),
        }
    }

    fn forward(
        &mut self,
        number: usize,
        route: &config::Route,
        forward: &config::Forward,
    ) -> Forwarding {
        let transport = forward.transport;
        let choice = match &forward.clusters {
            ClusterChoice::One(name) => Choice::One(self.cluster(name, transport)),
            ClusterChoice::Weighted { clusters, .. } => Choice::Weighted {
                chance: Weighted::new(clusters.iter().map(|cluster| cluster.weight)),
                clusters: clusters
                    .iter()
                    .map(|cluster| {
                        let limit = cluster.rate_limit.as_ref();
                        let limit = limit.map(|limit| self.limit(number, limit));
                        (self.cluster(&cluster.name, transport), limit)
                    })
                    .collect(),
            },
            ClusterChoice::Header(name) => {
                let names: Vec<_> = self.snapshot.clusters.keys().map(Arc::clone).collect();
                for name in names {
                    let cluster = self.cluster(&name, transport);
                    self.plan.by_name.insert(name, cluster);
                }
                Choice::Header(Arc::clone(name))
            }
            #[expect(unreachable_patterns, reason = "a choice to come is not guessed")]
            _ => Choice::Header("".into()),
        };
        let mirrors = forward.mirrors.iter();
        let mirrors = mirrors.map(|mirror| (self.cluster(&mirror.cluster, None), mirror.fraction));
        Forwarding {
            choice,
            hasher: Hasher::new(&forward.hash),
            mirrors: mirrors.collect(),
            limit: route.rate_limit.as_ref().map(|it| self.limit(number, it)),
        }
    }

    fn cluster(&mut self, name: &Arc<str>, transport: Option<Transport>) -> usize {
        let key = (Arc::clone(name), transport);
        if let Some(place) = self.places.get(&key) {
            return *place;
        }
        let place = self.plan.clusters.len();
        self.plan.clusters.push((self.find)(name, transport));
        self.places.insert(key, place);
        place
    }

    /// A rate limit that stayed keeps its tokens.
    fn limit(&self, number: usize, config: &Arc<RateLimit>) -> Limit {
        if let Known::Routes { routes, .. } = &self.previous.known
            && let Some(Prepared {
                forward: Some(before),
            }) = routes.get(number)
        {
            let of_clusters = match &before.choice {
                Choice::Weighted { clusters, .. } => clusters.as_slice(),
                _ => &[],
            };
            let limits = of_clusters.iter().filter_map(|(_, limit)| limit.as_ref());
            let mut limits = before.limit.iter().chain(limits);
            if let Some(same) = limits.find(|limit| limit.config == *config) {
                return same.clone();
            }
        }
        Limit {
            config: Arc::clone(config),
            bucket: Arc::new(TokenBucket::new(config, self.timeline)),
        }
    }
}
