//! Which handler a method and a path reach.

use super::exchange::Exchange;
use super::problem::Problem;
use super::reply::{self, Reply};
use super::{Method, percent};
use corewire::{CallContext, CallKind, Operation, Peer, Request, Response, Service};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;
type Handler<S> = Box<dyn Fn(Arc<S>, Exchange) -> Answer + Send + Sync>;

/// The resources of one network function.
///
/// Templates are written as in the specifications: `/nudm-sdm/v2/{supi}/am-data`. The first one
/// that fits a path answers it, so a literal segment goes before a parameter in the same place.
pub struct Router<S> {
    state: Arc<S>,
    resources: Vec<Resource<S>>,
}

struct Resource<S> {
    segments: Vec<Segment>,
    methods: Vec<(Method, Handler<S>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    Literal(&'static str),
    Parameter(&'static str),
}

impl<S: Send + Sync + 'static> Router<S> {
    /// No resources yet, of this network function.
    pub const fn new(state: Arc<S>) -> Self {
        Self {
            state,
            resources: Vec::new(),
        }
    }

    /// With a resource that is read.
    #[must_use]
    pub fn get<F>(
        self,
        template: &'static str,
        handler: impl Fn(Arc<S>, Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, Problem>> + Send + 'static,
    {
        self.on(Method::Get, template, handler)
    }

    /// With a resource that does something.
    #[must_use]
    pub fn post<F>(
        self,
        template: &'static str,
        handler: impl Fn(Arc<S>, Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, Problem>> + Send + 'static,
    {
        self.on(Method::Post, template, handler)
    }

    /// With a resource that is made or replaced.
    #[must_use]
    pub fn put<F>(
        self,
        template: &'static str,
        handler: impl Fn(Arc<S>, Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, Problem>> + Send + 'static,
    {
        self.on(Method::Put, template, handler)
    }

    /// With a resource that is changed.
    #[must_use]
    pub fn patch<F>(
        self,
        template: &'static str,
        handler: impl Fn(Arc<S>, Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, Problem>> + Send + 'static,
    {
        self.on(Method::Patch, template, handler)
    }

    /// With a resource that is ended.
    #[must_use]
    pub fn delete<F>(
        self,
        template: &'static str,
        handler: impl Fn(Arc<S>, Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, Problem>> + Send + 'static,
    {
        self.on(Method::Delete, template, handler)
    }

    fn on<F>(
        mut self,
        method: Method,
        template: &'static str,
        handler: impl Fn(Arc<S>, Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, Problem>> + Send + 'static,
    {
        let segments = segments_of(template);
        let handler: Handler<S> = Box::new(move |state, exchange| {
            let answer = handler(state, exchange);
            Box::pin(async move { reply::response(answer.await) })
        });
        let known = self
            .resources
            .iter_mut()
            .find(|resource| resource.segments == segments);
        match known {
            Some(resource) => resource.methods.push((method, handler)),
            None => self.resources.push(Resource {
                segments,
                methods: vec![(method, handler)],
            }),
        }
        self
    }

    /// The network function.
    pub const fn state(&self) -> &Arc<S> {
        &self.state
    }

    /// Answers a request.
    #[cfg(any(test, feature = "testing"))]
    pub async fn answer(&self, request: Request) -> Response {
        self.answer_to(None, request).await
    }

    /// Answers a request of this peer.
    pub(crate) async fn answer_to(&self, peer: Option<&Peer>, request: Request) -> Response {
        match self.start(peer, request) {
            Ok(answer) => answer.await,
            Err(problem) => problem.into_response(),
        }
    }

    fn start(&self, peer: Option<&Peer>, request: Request) -> Result<Answer, Problem> {
        let method = Method::of(&request.headers);
        let path = request.operation.as_str();
        let mut allowed: Vec<&'static str> = Vec::new();
        for resource in self.resources.iter().filter(|one| one.fits(path)) {
            let found = resource.methods.iter().find(|(known, _)| *known == method);
            if let Some((_, handler)) = found {
                let params = resource.parameters(path)?;
                let exchange = Exchange::new(format!("/{path}"), params, request).of(peer);
                return Ok(handler(Arc::clone(&self.state), exchange));
            }
            allowed.extend(resource.methods.iter().map(|(known, _)| known.name()));
        }
        if allowed.is_empty() {
            return Err(Problem::new(404, "RESOURCE_URI_STRUCTURE_NOT_FOUND"));
        }
        Err(Problem::new(405, "METHOD_NOT_ALLOWED").header("allow", allowed.join(", ")))
    }
}

impl<S> Resource<S> {
    fn fits(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        self.segments.iter().all(|segment| {
            parts.next().is_some_and(|part| match segment {
                Segment::Literal(text) => part == *text,
                Segment::Parameter(_) => !part.is_empty(),
            })
        }) && parts.next().is_none()
    }

    fn parameters(&self, path: &str) -> Result<Vec<(&'static str, String)>, Problem> {
        let mut params = Vec::new();
        for (segment, part) in self.segments.iter().zip(path.split('/')) {
            if let Segment::Parameter(name) = segment {
                let decoded = percent::decode(part).ok_or_else(|| {
                    Problem::new(400, "INVALID_MSG_FORMAT")
                        .invalid(name, "its escapes are no UTF-8")
                })?;
                params.push((*name, decoded.into_owned()));
            }
        }
        Ok(params)
    }
}

fn segments_of(template: &'static str) -> Vec<Segment> {
    let path = template.strip_prefix('/').unwrap_or(template);
    path.split('/')
        .map(|part| {
            part.strip_prefix('{')
                .and_then(|part| part.strip_suffix('}'))
                .map_or(Segment::Literal(part), Segment::Parameter)
        })
        .collect()
}

impl<S: Send + Sync + 'static> Service for Router<S> {
    fn kind(&self, _operation: &Operation) -> Option<CallKind> {
        // Unknown paths are answered by the router, with a cause (TS 29.500, 5.2.7.2).
        Some(CallKind::Unary)
    }

    async fn call(&self, context: &CallContext, request: Request) -> Response {
        self.answer_to(Some(context.peer()), request).await
    }
}

impl<S> std::fmt::Debug for Router<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Router({} resources)", self.resources.len())
    }
}

#[cfg(test)]
mod tests;
