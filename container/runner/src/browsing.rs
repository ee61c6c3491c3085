//! The bridge to a session's browser, in the browser's own jail: it takes commands from the gate, one after another, and gives back
//! what the page shows. It decides nothing: whether a command is permitted, and where a page may load from, are the gate's to say.

use crate::RunnerFault;
use crate::egress;
use crate::gate::Gate;
use crate::places::Places;
use ipc_proto::Text;
use ipc_proto::browser::{BrowserError, Outcome};
use ipc_proto::mcp::{Act, Reply, Report, Trouble};
use runner::browser::{Browser, Options, PROGRAM};
use std::path::Path;

/// Starts the browser and carries out commands until one closes it, it dies, or the gate is gone.
pub(crate) async fn run(gate: &Gate, places: &Places) -> Result<(), RunnerFault> {
    let key = egress::for_browser(gate).await?;
    let (folder, proxy) = (places.tmp.join("browser"), egress::address());
    let launched = match Path::new(PROGRAM).exists() {
        false => Err(format!("{PROGRAM} is not there")),
        true => {
            let options = Options { folder: &folder, proxy: &proxy, key: &key };
            Browser::launch(&options).await.map_err(|fault| fault.to_string())
        }
    };
    match launched {
        Ok(browser) => {
            gate.server_report(Report::Opened).await?;
            serve(gate, browser).await
        }
        Err(why) => gate.server_report(Report::Failed(Trouble::NoBrowser(Text::clip(&why)))).await,
    }
}

/// A browser has one tab, so a command waits for the one before it.
async fn serve(gate: &Gate, mut browser: Browser) -> Result<(), RunnerFault> {
    loop {
        let Some(request) = gate.server_next().await? else { continue };
        let reply = match request.act {
            Act::Browse(command) => Reply::Browsed(browser.perform(command).await),
            _ => Reply::Refused(Text::clip("a browser takes no such request")),
        };
        let ended = matches!(&reply, Reply::Browsed(Ok(Outcome::Closed) | Err(BrowserError::Dead)));
        gate.server_reply(request.id, reply).await?;
        if ended {
            return Ok(());
        }
    }
}
