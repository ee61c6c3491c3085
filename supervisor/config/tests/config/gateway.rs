//! The gateway: what agentd and it are told of where it listens.

use crate::common::check;
use crate::plans::section;
use ipc_proto::config;
use manifest::Process;
use manifest::settings::{Loopback, decode};

// Holds P3-12.
#[test]
fn gateway_listens_on_this_machine_alone_and_is_told_the_names_of_it() {
    for (at, v6) in [("127.0.0.1:8080", false), ("[::1]:8080", true)] {
        let text = format!(
            "[gateway]\nlisten = '{at}'\nhosts = ['api.lan']\norigins = ['https://chat.lan']\nmax_body = 65536"
        );
        let document = check(&text).unwrap().document().unwrap();
        let listen = decode(&document).unwrap().0.listen.unwrap();
        assert_eq!((listen, listen.address().to_string()), (Loopback { v6, port: 8080 }, at.to_owned()));
        let gateway = section::<config::Gateway>(&document, Process::Gateway).own;
        assert_eq!((gateway.listen.as_deref(), gateway.max_body), (Some(at), 65_536));
        assert_eq!(gateway.hosts, ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "api.lan"]);
        assert_eq!(gateway.origins, ["https://chat.lan"]);
    }
}
