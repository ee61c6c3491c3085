//! The record: read and verified by audit, shown as it is.

use crate::caller::Caller;
use ipc_proto::List;
use ipc_proto::audit::{Record, Report, method};
use ipc_proto::control::{Answer, ControlError};

impl Caller {
    /// Entries of the record; audit bounds how many and how long is waited.
    pub(crate) async fn read_record(&self, from: u64, max: u16, wait_ms: u32) -> Answer<List<Record, 256>> {
        let tail = self.desk.ask(&self.desk.audit, &method::tail, |audit, context| async move {
            audit.tail(context, from, max, wait_ms).await
        });
        tail.await?.map_err(ControlError::Audit)
    }

    /// Has the record verified.
    pub(crate) async fn verify_record(&self) -> Answer<Report> {
        let verify = self.desk.ask(&self.desk.audit, &method::verify, |audit, context| async move {
            audit.verify(context).await
        });
        verify.await?.map_err(ControlError::Audit)
    }
}
