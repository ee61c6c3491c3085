//! Asks everything that the libraries beneath ask the machine once: the number of cores, the instructions, the size of
//! the caches. This happens before the seal, after which the answer would be death; and work that they would divide
//! among threads is done in the one thread that there is.

use crate::model::{self, Fault};

/// Has the libraries ask.
///
/// # Errors
/// There are more threads than one, or a model of zeros cannot be run.
pub(crate) fn ask() -> Result<(), Fault> {
    kit::compute_alone().map_err(|cause| Fault::Machine(cause.to_string()))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().map_err(|cause| Fault::Machine(cause.to_string()))?;
    model::rehearse()
}
