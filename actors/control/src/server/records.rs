//! The record: read, proved and verified by audit, shown as it is.

use crate::caller::Caller;
use crate::state::to_the_end;
use ipc_proto::audit::{
    Action, AuditClient, AuditError, Consistency, Event, Filter, NOTE, Page, Proof, Record, Report, Result3,
    Rotation, Stats, TreeHead, method,
};
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::{List, Method, Text};
use tarpc::client::RpcError;
use tarpc::context::Context;

impl Caller {
    async fn audit<R, F, Fut>(&self, method: &Method, ask: F) -> Answer<R>
    where
        F: Fn(AuditClient, Context) -> Fut,
        Fut: Future<Output = Result<Result<R, AuditError>, RpcError>>,
    {
        self.state.ask(&self.state.audit, method, ask).await?.map_err(ControlError::Audit)
    }

    /// Entries of the record; audit bounds how many and how long is waited.
    pub(crate) async fn read_record(&self, from: u64, max: u16, wait_ms: u32) -> Answer<List<Record, 256>> {
        self.audit(&method::tail, |audit, cx| async move { audit.tail(cx, from, max, wait_ms).await }).await
    }

    /// Has the record verified.
    pub(crate) async fn verify_record(&self) -> Answer<Report> {
        self.audit(&method::verify, |audit, cx| async move { audit.verify(cx).await }).await
    }

    /// An entry, with proof that it is in the record.
    pub(crate) async fn prove_entry(&self, index: u64) -> Answer<Proof> {
        self.audit(&method::prove, |audit, cx| async move { audit.prove(cx, index).await }).await
    }

    /// Proof that the record only grew.
    pub(crate) async fn prove_growth(&self, from: u64) -> Answer<Consistency> {
        self.audit(&method::consistency, |audit, cx| async move { audit.consistency(cx, from).await }).await
    }

    /// The signed note of the record as it is now.
    pub(crate) async fn record_checkpoint(&self) -> Answer<Text<NOTE>> {
        self.audit(&method::checkpoint, |audit, cx| async move { audit.checkpoint(cx).await }).await
    }

    /// The record in numbers.
    pub(crate) async fn record_stats(&self) -> Answer<Stats> {
        self.audit(&method::stats, |audit, cx| async move { audit.stats(cx).await }).await
    }

    /// Entries that a filter admits; audit bounds how many are looked through.
    pub(crate) async fn query_record(&self, from: u64, filter: Filter) -> Answer<Page> {
        let ask = |audit: AuditClient, cx| {
            let filter = filter.clone();
            async move { audit.query(cx, from, filter).await }
        };
        self.audit(&method::query, ask).await
    }

    /// The signed digest of a day.
    pub(crate) async fn record_digest(&self, day: u32) -> Answer<Text<NOTE>> {
        self.audit(&method::digest, |audit, cx| async move { audit.digest(cx, day).await }).await
    }

    /// Has audit sign with a new key; audit puts that on the record itself.
    pub(crate) async fn rotate_record_key(&self) -> Answer<Rotation> {
        self.audit(&method::rotate_key, |audit, cx| async move { audit.rotate_key(cx).await }).await
    }

    /// Keeps a checkpoint of another host's record.
    pub(crate) async fn witness_record(self, head: TreeHead) -> Answer<()> {
        let mut event = Event::new(Action::CheckpointWitnessed, Result3::Success).about(head.origin.as_str());
        (event.bytes, event.hash) = (head.size, Some(head.root));
        to_the_end(async move { self.state.record(event).await }).await
    }
}
