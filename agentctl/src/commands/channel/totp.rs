//! `agentctl channel totp`: the secret of the six digits that an approval on a channel needs. It is made here, goes sealed to
//! credproxy, and is shown once, for a person's authenticator.

use super::fetch;
use crate::app::{App, Outcome};
use crate::commands::cred;
use crate::failure::Failure;
use ipc_proto::channel::ChannelView;
use ipc_proto::credproxy::Binding;
use ipc_proto::{List, Name, Text};
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};
use serde_json::json;
use std::process::ExitCode;
use zeroize::Zeroizing;

/// Bytes of a secret, as RFC 4226 recommends.
const BYTES: usize = 20;
/// The host that the secret may go to: RFC 2606 says that there is none of this name.
const NOWHERE: &str = "totp.invalid";

/// Makes the secret of a channel, in the place of an earlier one.
pub(super) async fn enrol(app: &App, name: &Name) -> Outcome {
    let view = fetch(app, name).await?;
    let secret = view.info.platform.code_secret(name);
    let value = fresh()?;
    let uri = Zeroizing::new(uri(name, &value));
    let picture = picture(&uri)?;
    cred::store(app, &secret, nowhere(), Zeroizing::new(value.as_bytes().to_vec())).await?;
    if app.out.json {
        let fields = json!({ "channel": name, "secret": secret, "uri": &*uri, "needed": view.approve_code });
        app.out.document(fields)?;
        return Ok(ExitCode::SUCCESS);
    }
    app.out.line(&format!(
        "the secret is stored as {secret}; scan this by your authenticator, it is shown once:\n"
    ))?;
    app.out.line(&picture)?;
    app.out.line(&uri)?;
    app.out.line(&format!("\n{}", next(name, &view)))?;
    Ok(ExitCode::SUCCESS)
}

/// The next step of a person.
fn next(name: &Name, view: &ChannelView) -> String {
    if view.approve_code {
        return format!("approvals on {name} are then answered by `/approve CODE 123456`");
    }
    format!(
        "set approve_code = \"totp\" in [channel.{name}] and restart the host: approvals there are then answered by \
         `/approve CODE 123456`"
    )
}

/// The permitted use: no request at all.
fn nowhere() -> Binding {
    Binding { hosts: List::clip([Text::clip(NOWHERE)]), ..Binding::default() }
}

/// A new secret, in base32.
fn fresh() -> Result<Zeroizing<String>, Failure> {
    let mut bytes = Zeroizing::new([0; BYTES]);
    getrandom::fill(bytes.as_mut_slice()).map_err(Failure::Random)?;
    Ok(Zeroizing::new(base32(&bytes)))
}

/// Base32 of RFC 4648, without padding: 20 bytes are 32 symbols.
fn base32(bytes: &[u8; BYTES]) -> String {
    const SYMBOLS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut text = String::with_capacity(BYTES * 8 / 5);
    for group in bytes.chunks_exact(5) {
        let bits = group.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        for place in (0..8).rev() {
            let at = usize::try_from(bits >> (5 * place) & 31).unwrap_or_default();
            text.extend(SYMBOLS.get(at).copied().map(char::from));
        }
    }
    text
}

/// The address by which an authenticator takes the secret.
fn uri(name: &str, value: &str) -> String {
    let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("otpauth://totp/Cordon:{name}?secret={value}&issuer=Cordon&algorithm=SHA1&digits=6&period=30")
}

/// The address as a QR code of half blocks, dark on light.
fn picture(uri: &str) -> Result<String, Failure> {
    let code = QrCode::with_error_correction_level(uri, EcLevel::L)
        .map_err(|why| Failure::Usage(format!("the name is too long for a QR code: {why}")))?;
    Ok(code.render::<Dense1x2>().dark_color(Dense1x2::Dark).light_color(Dense1x2::Light).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_as_authenticators_read_it() {
        // RFC 6238, appendix B.
        assert_eq!(base32(b"12345678901234567890"), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(fresh().unwrap().len(), 32);
        assert_ne!(*fresh().unwrap(), *fresh().unwrap());
    }

    #[test]
    fn an_address_names_the_channel_and_fits_a_terminal() {
        let uri = uri("a b", &base32(b"12345678901234567890"));
        assert!(
            uri.starts_with("otpauth://totp/Cordon:a+b?secret=GEZD") && uri.ends_with("period=30"),
            "{uri}"
        );
        let picture = picture(&uri).unwrap();
        assert!(picture.lines().all(|line| line.chars().count() <= 80), "{picture}");
    }
}
