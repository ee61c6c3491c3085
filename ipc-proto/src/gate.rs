//! What the gate tells operators. What it does for runners is in `runner_gate`.

use crate::List;
use crate::model::ModelInfo;
use crate::service::service;

service! {
    /// The gate's listings.
    pub trait Gate {
        /// The models that can be used.
        [idempotent, 256, 10]
        async fn models() -> List<ModelInfo, 256>;
    }
}
