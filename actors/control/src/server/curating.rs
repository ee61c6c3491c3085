//! The queue of background work: curator decides and records; whoever asks is the owner, as the role says.

use crate::caller::Caller;
use ipc_proto::control::{Answer, ControlError};
use ipc_proto::curator::{Ask, Said, method};

impl Caller {
    /// Asks curator, as the caller.
    pub(crate) async fn ask_curator(&self, ask: Ask) -> Answer<Said> {
        if matches!(ask, Ask::Put(..)) {
            self.desk.disk_has_room()?;
        }
        let user = self.user().await?;
        let said = self.desk.ask(&self.desk.curator, &method::curate, |curator, context| {
            let (by, owner, ask) = (user.name.clone(), user.id, ask.clone());
            async move { curator.curate(context, by, owner, ask).await }
        });
        said.await?.map_err(ControlError::Curator)
    }
}
