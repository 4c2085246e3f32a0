//! A server that is connected.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::Duration;

use allm_core::{Hash, Tool};
use rmcp::model::{ServerNotification, SubscriptionFilter};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::callbacks::Stale;
use super::catalog::{Catalog, ToolChange};
use super::end::End;
use super::link::Link;
use super::listing;
use super::settings::McpServer;
use super::suspended::Suspended;
use super::tool::McpTool;
use crate::error::{McpError, McpErrorKind};

/// Within what time the restarts are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// How soon after one listing the next follows when the server keeps saying that its tools have changed.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// A server that is connected. Cheap to clone; its tools hold it, too.
///
/// When the last one is gone, the connection is closed and the process of the server ended. [`close`](Self::close) does
/// so in an orderly way, and waits for it.
#[derive(Clone)]
pub struct McpConnection(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) server: McpServer,
    state: Mutex<State>,
    catalog: RwLock<Catalog>,
    looks: AtomicU64,
    listing: Mutex<Looked>,
    pub(super) stale: Arc<Stale>,
    pub(super) suspended: Suspended,
    changed: watch::Sender<u64>,
}

/// Up to which look the list is known, and of which connection.
#[derive(Default)]
struct Looked {
    number: u64,
    of: Option<End>,
}

struct State {
    link: Option<Arc<Link>>,
    /// Why there is none.
    lost: String,
    /// When it was started again.
    restarts: Vec<Instant>,
    is_closed: bool,
}

impl Drop for Inner {
    /// Wakes the task that follows changes, so that it finds that there is nothing more to follow.
    fn drop(&mut self) {
        self.stale.set();
    }
}

impl McpServer {
    /// Starts the server, or reaches it, and lists its tools.
    ///
    /// # Errors
    ///
    /// If the settings make no sense, the server does not start, does not speak the protocol, or is not ready within
    /// [`start_timeout`](Self::start_timeout).
    ///
    /// # Cancel safety
    ///
    /// A process that was started is ended when this is dropped.
    pub async fn connect(self) -> Result<McpConnection, McpError> {
        self.check()?;
        let stale = Arc::new(Stale::default());
        let ready = async {
            let link = Link::open(&self, Arc::clone(&stale)).await?;
            let listed = listing::fetch(&self, &link).await?;
            Ok((link, Catalog::first(&self, listed)?))
        };
        let (link, catalog) = within(&self, ready).await?;
        let link = Arc::new(link);
        let inner = Arc::new(Inner {
            state: Mutex::new(State {
                link: Some(Arc::clone(&link)),
                lost: String::new(),
                restarts: Vec::new(),
                is_closed: false,
            }),
            catalog: RwLock::new(catalog),
            looks: AtomicU64::new(0),
            listing: Mutex::default(),
            stale,
            suspended: Suspended::default(),
            changed: watch::Sender::new(0),
            server: self,
        });
        tokio::spawn(follow(Arc::downgrade(&inner), Arc::clone(&inner.stale)));
        subscribe(&inner, &link);
        Ok(McpConnection(inner))
    }
}

/// What is done to be ready, within the time that the server has for it.
async fn within<T>(
    server: &McpServer,
    ready: impl Future<Output = Result<T, McpError>>,
) -> Result<T, McpError> {
    let limit = server.start_timeout;
    tokio::time::timeout(limit, ready)
        .await
        .unwrap_or_else(|_| {
            let message = format!("it was not ready within {limit:?}");
            Err(server.error(McpErrorKind::Timeout, message))
        })
}

impl Inner {
    fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn catalog_mut(&self) -> RwLockWriteGuard<'_, Catalog> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The live connection. One that has ended is made again, unless that was done too often of late.
    pub(super) async fn link(self: &Arc<Self>) -> Result<Arc<Link>, McpError> {
        let mut state = self.state.lock().await;
        if state.is_closed {
            let message = "the connection was closed by the application";
            return Err(self.server.error(McpErrorKind::Closed, message));
        }
        if let Some(link) = &state.link {
            if !link.is_over() {
                return Ok(Arc::clone(link));
            }
            state.lost = link.end.reason();
            state.link = None;
        }
        let now = Instant::now();
        state.restarts.retain(|at| now.duration_since(*at) < WINDOW);
        let allowed = usize::try_from(self.server.restarts).unwrap_or(usize::MAX);
        if state.restarts.len() >= allowed {
            let lost = &state.lost;
            let message = format!(
                "it has ended ({lost}) and was started again {allowed} times within a minute; `reconnect` tries again"
            );
            return Err(self.server.error(McpErrorKind::Closed, message));
        }
        state.restarts.push(now);
        self.open(&mut state).await
    }

    /// Makes a new connection, and looks at the tools again.
    async fn open(self: &Arc<Self>, state: &mut State) -> Result<Arc<Link>, McpError> {
        let ready = async {
            self.stale.take();
            let link = Link::open(&self.server, Arc::clone(&self.stale)).await?;
            let listed = listing::fetch(&self.server, &link).await?;
            Ok((link, listed))
        };
        let (link, listed) = within(&self.server, ready).await?;
        let link = Arc::new(link);
        self.update(listed);
        state.link = Some(Arc::clone(&link));
        subscribe(self, &link);
        Ok(link)
    }

    fn update(&self, listed: Vec<rmcp::model::Tool>) {
        if self.catalog_mut().update(&self.server, listed) {
            tracing::info!(
                server = self.server.shown(),
                "the server's tools have changed"
            );
            self.changed
                .send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Looks at the tools again. Of those who come while somebody looks, one looks for all: what was asked for before
    /// they came may be old.
    pub(super) async fn look(self: &Arc<Self>, link: &Link) -> Result<(), McpError> {
        let own = self.looks.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        let mut looked = self.listing.lock().await;
        let is_same = looked.of.as_ref().is_some_and(|end| end.is_same(&link.end));
        if is_same && looked.number >= own {
            return Ok(());
        }
        let number = self.looks.load(Ordering::Acquire);
        self.stale.take();
        let listed = within(&self.server, listing::fetch(&self.server, link)).await;
        match listed {
            Ok(listed) => self.update(listed),
            Err(error) => {
                self.stale.set();
                return Err(error);
            }
        }
        *looked = Looked {
            number,
            of: Some(link.end.clone()),
        };
        Ok(())
    }

    /// Why this tool must not be called now.
    pub(super) fn objection(&self, original: &str, tool: &Tool) -> Option<String> {
        self.catalog().objection(&self.server, original, tool)
    }
}

/// Looks at the tools again whenever the server says that they have changed.
async fn follow(inner: Weak<Inner>, stale: Arc<Stale>) {
    loop {
        stale.changed().await;
        let Some(inner) = inner.upgrade() else { return };
        let link = inner.state.lock().await.link.clone();
        if let Some(link) = link.filter(|link| !link.is_over())
            && stale.get()
            && let Err(error) = inner.look(&link).await
        {
            tracing::warn!(server = inner.server.shown(), "{error}");
        }
        drop(inner);
        tokio::time::sleep(AT_MOST_EVERY).await;
    }
}

/// A server of the newer kind says what has changed only to those who ask for it.
fn subscribe(inner: &Arc<Inner>, link: &Arc<Link>) {
    let wants = link.info().is_some_and(|info| {
        let tools = info.capabilities.tools.as_ref();
        !info.protocol_version.has_initialize()
            && tools.is_some_and(|tools| tools.list_changed == Some(true))
    });
    if !wants {
        return;
    }
    let (peer, stale, end) = (
        link.peer().clone(),
        Arc::clone(&inner.stale),
        link.end.clone(),
    );
    tokio::spawn(async move {
        let listen = async {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let mut subscription = peer.listen(filter).await.ok()?;
            while let Some(said) = subscription.next().await.ok()? {
                if matches!(said, ServerNotification::ToolListChangedNotification(_)) {
                    stale.set();
                }
            }
            Some(())
        };
        tokio::select! {
            _ = listen => {}
            () = end.wait() => {}
        }
    });
}

impl McpConnection {
    /// What the server is called in errors and in the log.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.server.shown()
    }

    /// The tools, for an engine or for a call.
    ///
    /// They are as they were when somebody looked at them: see [`changes`](Self::changes). An engine keeps those that it
    /// was built with; give a call `connection.tools()` to have the newest.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use allm::{Engine, Fake};
    /// use allm_mcp::McpServer;
    ///
    /// let files = McpServer::command("mcp-server-filesystem").arg("/srv/notes").connect().await?;
    /// let engine = Engine::builder().provider(Fake::new()).model("fake:any").tools(files.tools()).build()?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        let tools = self.0.catalog();
        let handled = tools.tools().map(|(original, tool)| {
            let handler = McpTool::new(Arc::clone(&self.0), original, tool.clone());
            tool.with_handler(Arc::new(handler))
        });
        handled.collect()
    }

    /// The tools of the server that cannot be used, and why.
    #[must_use]
    pub fn left_out(&self) -> BTreeMap<String, String> {
        self.0.catalog().left_out.clone()
    }

    /// What the server says about how it is to be used, if it does.
    pub async fn instructions(&self) -> Option<String> {
        let state = self.0.state.lock().await;
        state.link.as_ref()?.info()?.instructions.clone()
    }

    /// What the server says now that it did not say when somebody looked. A tool that has changed is not called any more,
    /// until [`accept`](Self::accept).
    #[must_use]
    pub fn changes(&self) -> Vec<ToolChange> {
        self.0.catalog().changes()
    }

    /// Somebody has looked at these [`changes`](Self::changes): they hold. Take [`tools`](Self::tools) again: those taken
    /// before stay as they were, and are refused where they differ.
    ///
    /// A tool that has changed once more meanwhile is not what was looked at: it is still refused, and
    /// [`changes`](Self::changes) has what it is now.
    pub fn accept(&self, changes: &[ToolChange]) {
        self.0.catalog_mut().accept(changes);
        self.0
            .changed
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Waits until the tools are others than before.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: a change that comes between two calls of this is not waited for, but [`changes`](Self::changes)
    /// has it.
    pub async fn changed(&self) {
        let mut changed = self.0.changed.subscribe();
        let _ = changed.changed().await;
    }

    /// The fingerprints of the tools as they were looked at, by name, also of those that are not there now: for
    /// [`McpServer::known_as`] in another process.
    #[must_use]
    pub fn fingerprints(&self) -> BTreeMap<String, Hash> {
        self.0.catalog().fingerprints()
    }

    /// Looks at the tools again now.
    ///
    /// # Errors
    ///
    /// If the server is gone and does not come back, or does not answer.
    pub async fn refresh(&self) -> Result<(), McpError> {
        let link = self.0.link().await?;
        self.0.look(&link).await
    }

    /// Whether the server is there. One that is not is started again by the next call.
    pub async fn is_alive(&self) -> bool {
        let state = self.0.state.lock().await;
        state.link.as_ref().is_some_and(|link| !link.is_over())
    }

    /// Ends the connection, if there is one, and makes a new one. Restarts are counted from the beginning.
    ///
    /// # Errors
    ///
    /// As of [`McpServer::connect`].
    pub async fn reconnect(&self) -> Result<(), McpError> {
        let mut state = self.0.state.lock().await;
        state.restarts.clear();
        state.is_closed = false;
        self.0.suspended.clear();
        if let Some(link) = state.link.take() {
            shut(link).await;
        }
        self.0.open(&mut state).await?;
        Ok(())
    }

    /// Ends the connection and the process of the server. Calls that are open, and later ones, fail.
    pub async fn close(&self) {
        let mut state = self.0.state.lock().await;
        state.is_closed = true;
        self.0.suspended.clear();
        if let Some(link) = state.link.take() {
            shut(link).await;
        }
    }
}

/// Closes in an orderly way if nobody else uses it; whoever does is told and lets go of it.
async fn shut(link: Arc<Link>) {
    link.end.fire("the connection was closed");
    let mut link = link;
    for _ in 0..64 {
        match Arc::try_unwrap(link) {
            Ok(link) => return link.close().await,
            Err(shared) => link = shared,
        }
        tokio::task::yield_now().await;
    }
}

impl fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpConnection")
            .field("server", &self.0.server)
            .finish_non_exhaustive()
    }
}
