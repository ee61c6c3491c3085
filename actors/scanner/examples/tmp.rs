//! temp
fn main() {
    let e = scanner::Engine::new();
    for f in std::env::args().skip(1) {
        let t = String::from_utf8_lossy(&std::fs::read(&f).unwrap()).into_owned();
        let r = e.scan(scanner::Direction::Input, &t, None);
        for x in r.findings.iter().filter(|x| x.rule != "telephone" && x.rule != "email").take(60) {
            println!("{} {:?}", x.rule, &t[x.start..x.end].chars().take(150).collect::<String>());
        }
    }
}
