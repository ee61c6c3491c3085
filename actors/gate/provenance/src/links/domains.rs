//! Ends of a bare host that make it an address with no scheme, `www.`, path or port: what chats turn into links.

/// Longer top-level domains that are in wide use, or in wide abuse. One that is missing costs no more than that a
/// bare name under it, with nothing else to show that it is an address, is no link.
const GENERIC: &str = "academy agency app art arpa asia bank bar best bet bid bio biz blog bond boutique build business buzz \
    cafe cam capital cards care cash casino cat center chat cheap city click clinic cloud club codes coffee \
    com community company computer consulting cool coop country credit cyou dance date dating deals delivery \
    design dev digital direct directory dog domains download earth edu education email energy events example \
    exchange expert express fail faith family fans farm finance fit foundation fun fund fyi gallery game \
    games gift global gold gov group guide guru health help homes host hosting house icu info ink institute \
    int international invalid jobs lat law legal life link live loan lol love ltd management market \
    marketing media men mil mobi moe mom money monster museum net network news ngo ninja one ong onion \
    online org page party pet photo photos pics pink pizza place plus porn press pro production pub quest \
    racing realty red rent rest review reviews rip rocks run sale school science security services sex sexy \
    shop show site skin social software solutions space store stream studio style support surf systems team \
    tech technology tel test tips today tools top town toys trade travel tube university uno ventures video \
    vip webcam website wiki win wine work works world wtf xxx xyz zone";

/// Country codes that are rather the end of a file's name, where no more than one dot stands before them.
const FILES: [&str; 6] = ["md", "pl", "ps", "py", "rs", "sh"];

/// Returns whether a host of this many labels that ends so is an address by itself.
pub(super) fn is_domain(last: &str, labels: usize) -> bool {
    let last = last.to_lowercase();
    if !last.is_ascii() {
        return last.chars().count() > 1 && last.chars().all(char::is_alphabetic);
    }
    if last.len() == 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return labels > 2 || !FILES.contains(&last.as_str());
    }
    last.starts_with("xn--") || GENERIC.split(' ').any(|known| known == last)
}
