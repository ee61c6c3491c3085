//! The output of `--check` for a valid configuration: the host in a few lines.

use crate::plan::Plan;
use crate::problem::listed;
use manifest::Process;
use manifest::command::Mode;
use manifest::settings::PROCESSES;
use std::fmt;

/// A plan, displayed for people.
#[derive(Debug)]
pub struct Summary<'a> {
    /// The name of the configuration.
    pub name: &'a str,
    /// The plan.
    pub plan: &'a Plan,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.plan;
        writeln!(f, "{}: ok", self.name.escape_debug())?;
        let mut line = |what: &str, text: String| writeln!(f, "{what:<10} {text}");
        line("mode", plan.host.mode.map_or("auto", Mode::name).to_owned())?;
        line("ids", ids(plan))?;
        line("processes", listed(processes(plan, true)))?;
        let off = listed(processes(plan, false));
        if !off.is_empty() {
            line("without", off)?;
        }
        if let Some(at) = &plan.gateway.own.listen {
            line("gateway", format!("gateway.sock, and {at} with an API key"))?;
        }
        for user in &plan.router.users {
            let (uids, channels) = (user.uids.iter().map(u32::to_string), user.identities.iter().cloned());
            line("user", format!("{}: {} ({})", user.name, user.role.word(), listed(uids.chain(channels))))?;
        }
        for (name, agent) in &plan.router.agents {
            let tools = agent.tools.len();
            let does = match &agent.engine {
                Some(engine) => format!("engine {}", engine.name),
                None => format!("{tools} tools"),
            };
            line("agent", format!("{name}: {}, {}, {does}", agent.model, agent.profile))?;
        }
        for (name, provider) in &plan.outside.model.providers {
            line("provider", format!("{name}: {} ({})", provider.base_url, listed(provider.models.keys())))?;
        }
        Ok(())
    }
}

fn ids(plan: &Plan) -> String {
    let host = &plan.host;
    if !host.own_ids {
        return "the caller's, for every process".to_owned();
    }
    let last = host.base.saturating_add(u32::try_from(PROCESSES).unwrap_or_default());
    let processes = if host.installed {
        "those of the installed cordon-* users".to_owned()
    } else {
        format!("{} to {last}", host.base.saturating_add(1))
    };
    let last_slot = host.slot_base().saturating_add(u32::from(host.slots)).saturating_sub(1);
    format!("{processes}; runners {} to {last_slot}", host.slot_base())
}

fn processes(plan: &Plan, enabled: bool) -> Vec<&'static str> {
    let wanted = |p: &Process| *p != Process::Agentd && plan.enabled(*p) == enabled;
    Process::ALL.into_iter().filter(wanted).map(Process::name).collect()
}
