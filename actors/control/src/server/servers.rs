//! Servers of the Model Context Protocol: the gate holds them, and what was approved of each; here requests only pass.

use crate::caller::Caller;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::gate::{GateClient, method};
use ipc_proto::mcp::{
    Act, Approving, Installed, LoginTerms, McpError, Reply, SERVER_TOOLS, SERVERS, ServerInfo, ServerView,
    TOOL_NAME,
};
use ipc_proto::{List, Method, Name, Text};
use tarpc::client::RpcError;
use tarpc::context::Context;

impl Caller {
    /// The servers of the configuration.
    pub(crate) async fn list_servers(&self) -> Answer<List<ServerInfo, SERVERS>> {
        let gate = &self.state.gate;
        self.state
            .ask(gate, &method::mcp_servers, |gate, context| async move { gate.mcp_servers(context).await })
            .await
    }

    /// One with its tools.
    pub(crate) async fn show_server(&self, name: Name, start: bool) -> Answer<Box<ServerView>> {
        self.server(&method::mcp_server, |gate, context| {
            let name = name.clone();
            async move { gate.mcp_server(context, name, start).await }
        })
        .await
    }

    /// Approves tools, as the caller.
    pub(crate) async fn approve_tools(
        &self,
        name: Name,
        tools: List<Approving, SERVER_TOOLS>,
    ) -> Answer<List<Text<TOOL_NAME>, SERVER_TOOLS>> {
        let by = self.user().await?.name;
        self.server(&method::mcp_approve, |gate, context| {
            let (name, tools, by) = (name.clone(), tools.clone(), by.clone());
            async move { gate.mcp_approve(context, name, tools, by).await }
        })
        .await
    }

    /// Installs a package, as the caller.
    pub(crate) async fn install_server(&self, name: Name) -> Answer<Option<Installed>> {
        let by = self.user().await?.name;
        self.server(&method::mcp_install, |gate, context| {
            let (name, by) = (name.clone(), by.clone());
            async move { gate.mcp_install(context, name, by).await }
        })
        .await
    }

    /// Forgets a server, as the caller.
    pub(crate) async fn forget_server(&self, name: Name) -> Answer<()> {
        let by = self.user().await?.name;
        self.server(&method::mcp_forget, |gate, context| {
            let (name, by) = (name.clone(), by.clone());
            async move { gate.mcp_forget(context, name, by).await }
        })
        .await
    }

    /// The addresses that a server publishes for logging in.
    pub(crate) async fn show_login(&self, name: Name) -> Answer<Box<LoginTerms>> {
        self.server(&method::mcp_login_terms, |gate, context| {
            let name = name.clone();
            async move { gate.mcp_login_terms(context, name).await }
        })
        .await
    }

    /// Registers a client for logging in.
    pub(crate) async fn register_client(&self, name: Name, redirect_uri: Text<256>) -> Answer<Text<1024>> {
        self.server(&method::mcp_register, |gate, context| {
            let (name, redirect_uri) = (name.clone(), redirect_uri.clone());
            async move { gate.mcp_register(context, name, redirect_uri).await }
        })
        .await
    }

    /// Asks a server.
    pub(crate) async fn ask_server(&self, name: Name, act: Act) -> Answer<Reply> {
        self.server(&method::mcp_ask, |gate, context| {
            let (name, act) = (name.clone(), act.clone());
            async move { gate.mcp_ask(context, name, act).await }
        })
        .await
    }

    async fn server<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(GateClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<R, McpError>, RpcError>>,
    {
        self.state.ask(&self.state.gate, method, ask).await?.map_err(ControlError::Mcp)
    }
}
