//! A memory that records its calls and answers as each test says.

use crate::request::{Answer, Request};
use crate::store::{FolderAct, Place, Store, Trouble};
use crate::tools::call;
use crate::{Code, Fault};
use ipc_proto::Text;
use ipc_proto::memory::MemoryError;
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::sync::Mutex;

/// The memory.
#[derive(Default)]
pub(super) struct CannedStore {
    pub(super) place: Place,
    pub(super) asked: Mutex<Vec<Request>>,
    pub(super) answers: Mutex<VecDeque<Result<Answer, Trouble>>>,
}

impl Store for CannedStore {
    fn place(&self) -> &Place {
        &self.place
    }

    async fn ask(&self, ask: Request) -> Result<Answer, Trouble> {
        self.asked.lock().unwrap().push(ask);
        let answer = self.answers.lock().unwrap().pop_front();
        answer.unwrap_or(Err(Trouble::Memory(MemoryError::Storage)))
    }

    fn folder(&self, _: FolderAct) -> Result<Value, Fault> {
        Err(Fault::new(Code::Locked, "no files here"))
    }
}

impl CannedStore {
    pub(super) fn of(answers: impl IntoIterator<Item = Answer>) -> Self {
        let place = Place { project: Some(Text::clip("/srv/p")) };
        Self { place, answers: Mutex::new(answers.into_iter().map(Ok).collect()), ..Self::default() }
    }

    pub(super) fn call(&self, tool: &str, given: &Value) -> Value {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let given: Map<String, Value> = given.as_object().unwrap().clone();
        runtime.block_on(call(self, tool, given))
    }

    pub(super) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}
