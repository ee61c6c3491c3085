//! The processes that a configuration has started.

use crate::common::check;
use crate::plans::unasked;
use manifest::Process;
use manifest::settings::decode;

#[test]
fn a_provider_set_to_none_removes_its_row() {
    let cases = [
        ("memory", vec![Process::Memory, Process::Curator], 8),
        ("web", vec![Process::Web], 13),
        ("gateway", vec![Process::Gateway], 15),
        ("credproxy", vec![Process::Dialer, Process::Credproxy, Process::Web], 13),
    ];
    for (section, gone, tools) in cases {
        let plan = check(&format!("[{section}]\nprovider = 'none'")).unwrap();
        let document = plan.document().unwrap();
        let (settings, sections) = decode(&document).unwrap();
        let gone = [gone, Process::ALL.into_iter().filter(|process| unasked(*process)).collect()].concat();
        for process in Process::ALL.into_iter().filter(|p| *p != Process::Agentd) {
            assert_eq!(settings.enabled(process), !gone.contains(&process), "{section}: {}", process.name());
            let handed = !process.is_runner() && !gone.contains(&process);
            assert_eq!(sections.get(process).is_some(), handed, "{section}: {}", process.name());
        }
        assert_eq!(plan.router.agents["default"].tools.len(), tools);
    }
}
