//! The command line of the shell. Every flag takes something away: a network of its own, a second process, a feature that no command
//! uses.

use super::Options;

/// Features that are off. Frames share the page's process: a renderer that was taken over owns every page of its launch in any case,
/// since nothing but the jail confines it.
const FEATURES: &str = "--disable-features=IsolateOrigins,site-per-process,BackForwardCache,Prerender2,SpareRendererForSitePerProcess,\
    MediaRouter,Translate,OptimizationHints,AutofillServerCommunication,InterestFeedContentSuggestions,DialMediaRouteProvider,\
    AsyncDns,DnsOverHttps,WebBluetooth,CertificateTransparencyComponentUpdater,NetworkTimeServiceQuerying,\
    FedCm,PrivacySandboxAdsAPIs,SharedStorageAPI,InterestGroupStorage";

const FLAGS: [&str; 34] = [
    "--remote-debugging-pipe",
    // The jail is the sandbox; the shell's own needs namespaces, which no jail's program may make.
    "--no-sandbox",
    "--no-zygote",
    "--incognito",
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-software-rasterizer",
    "--disable-dev-shm-usage",
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    FEATURES,
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-component-extensions-with-background-pages",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-sync",
    "--disable-extensions",
    "--disable-default-apps",
    "--disable-notifications",
    "--disable-speech-api",
    "--no-first-run",
    "--no-pings",
    "--mute-audio",
    "--hide-scrollbars",
    "--lang=en-US",
    "--window-size=1280,800",
    "--block-new-web-contents",
    // No way out but the proxy: no datagram, no name looked up by the shell itself, and no exception for the jail's own loopback.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--proxy-bypass-list=<-loopback>",
    "--js-flags=--max-old-space-size=384",
];

/// All words after the program.
pub(super) fn words(options: &Options<'_>) -> Vec<String> {
    let mut words: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
    words.push(format!("--proxy-server=http://{}", options.proxy));
    words.push(format!("--user-data-dir={}/profile", options.folder.display()));
    // Only the jail's proxy holds this key, which is shown in TLS. It makes a certificate for each host and cuts a client
    // off that asks for another name than its tunnel has. The name of the real server is checked outside of the jail.
    words.push(format!("--ignore-certificate-errors-spki-list={}", options.key));
    words
}
