//! Makes vectors of texts, by the configured embedder. A provider's model is asked through the gate, which checks the
//! text's label first. The model of this machine is asked directly: nothing leaves the host.

use crate::failure::Failure;
use crate::queue::Queue;
use crate::store::Job;
use ipc_proto::embedder::{self, is_local};
use ipc_proto::gate::method;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Label;
use ipc_proto::memory::{RAW_BOUND, Settled, Vector};
use ipc_proto::model::{Embedding, Payer};
use ipc_proto::{Blob, List, Name, Text};

/// Makes a vector of a text.
pub(crate) async fn embed(
    queue: &Queue,
    job: &Job,
    (id, text, label): (MemoryId, &Text<RAW_BOUND>, &Label),
) -> Result<Settled, Failure> {
    let Some(model) = queue.model_of(job) else {
        return Err(Failure::Permanent("no embedder is configured".to_owned()));
    };
    if is_local(&model) {
        return here(queue, Name::clip(&model), id, text).await;
    }
    let owner = job.view.info.owner;
    let request = Embedding {
        model: model.clone(),
        texts: List::clip([Text::clip(text)]),
        dimensions: None,
        // The gate fills it in.
        payer: Payer::of(owner),
    };
    let embedded = queue.gate.call(&method::background_embed, |gate, context| {
        let (label, request) = (label.clone(), request.clone());
        async move { gate.background_embed(context, owner, label, request).await }
    });
    let embedded = embedded.await??;
    if let Err(error) = queue.store.spend(kit::now_ms(), embedded.usage.input.into()) {
        tracing::error!(%error, "tokens could not be counted");
    }
    let Some(values) = embedded.vectors.first() else {
        return Err(Failure::Passing("LLM_INVALID_JSON: the embedder gave no vector".to_owned()));
    };
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let values = Blob::new(bytes).map_err(|_| Failure::Permanent("the vector is too long".to_owned()))?;
    Ok(Settled::Embedded { id, vector: Vector { by: Name::clip(&model), values } })
}

/// The vector that the model of this machine makes.
async fn here(queue: &Queue, by: Name, id: MemoryId, text: &Text<RAW_BOUND>) -> Result<Settled, Failure> {
    let vector = queue.embedder.call(&embedder::method::embed, |embedder, context| {
        let (by, text) = (by.clone(), text.clone());
        async move { embedder.embed(context, by, text).await }
    });
    Ok(Settled::Embedded { id, vector: vector.await?? })
}
