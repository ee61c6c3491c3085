//! Proofs of senders, compared with a secret in constant time: the signature of a hook, a token that comes with it, or a code that a
//! person types. The answer is yes or no, and wrong ones are counted.

use crate::proxy::{Outside, Proxy};
use crate::secret::Secret;
use crate::vault_actor::VaultRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, Mac};
use ipc_proto::Name;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::credproxy::{CredError, Proof, Verdict};
use manifest::Process;
use sha2::Sha256;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// The time within which wrong proofs are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// The text before a key in base64.
const BASE64_KEY: &[u8] = b"whsec_";
/// Seconds of one code.
const STEP: u64 = 30;
/// Digits of a code.
const DIGITS: usize = 6;

/// The wrong proofs of each secret, and the last code of each that was accepted.
#[derive(Default)]
pub(crate) struct Proofs {
    wrong: RefCell<HashMap<(Name, Proof), Wrong>>,
    steps: RefCell<HashMap<Name, u64>>,
}

struct Wrong {
    since: Instant,
    count: usize,
}

impl Proofs {
    /// Returns true if another proof of this secret is looked at.
    fn admits(&self, secret: &Name, proof: Proof) -> bool {
        let wrong = self.wrong.borrow();
        let counted = wrong.get(&(secret.clone(), proof)).filter(|wrong| wrong.since.elapsed() < WINDOW);
        counted.is_none_or(|wrong| wrong.count < proof.most_wrong())
    }

    fn count_wrong(&self, secret: &Name, proof: Proof) {
        let mut wrong = self.wrong.borrow_mut();
        wrong.retain(|_, wrong| wrong.since.elapsed() < WINDOW);
        let fresh = Wrong { since: Instant::now(), count: 0 };
        let counted = wrong.entry((secret.clone(), proof)).or_insert(fresh);
        counted.count = counted.count.saturating_add(1);
    }

    /// Returns true if no code of this step or a later one was accepted before; from now on one is.
    fn is_first(&self, secret: &Name, step: u64) -> bool {
        let mut steps = self.steps.borrow_mut();
        let first = steps.get(secret).is_none_or(|last| step > *last);
        if first {
            steps.insert(secret.clone(), step);
        }
        first
    }
}

impl<O: Outside> Proxy<O> {
    /// Compares a proof with this secret, which must be the account's.
    pub(crate) async fn verify(
        &self,
        (caller, account): (Process, &Name),
        (secret, proof): (Name, Proof),
        signed: &[u8],
        given: &[u8],
    ) -> Result<Verdict, CredError> {
        self.owned(caller, account, &secret).await?;
        if !self.proofs.admits(&secret, proof) {
            return Err(CredError::Full);
        }
        let value = self.ask(|reply| VaultRequest::Compare(secret.clone(), reply)).await?;
        let holds = match proof {
            Proof::HmacSha256 => is_signed(&value, signed, given)?,
            Proof::Equal => is_equal(&value, given),
            Proof::Totp => {
                let step = kit::now_ms() / 1000 / STEP;
                step_of(&value, step, given)?.is_some_and(|step| self.proofs.is_first(&secret, step))
            }
        };
        if holds {
            return Ok(Verdict::Holds);
        }
        self.proofs.count_wrong(&secret, proof);
        Ok(Verdict::Differs)
    }
}

impl<O: Outside> Proxy<O> {
    /// Signs these bytes with this secret, which must be the account's.
    pub(crate) async fn sign(
        &self,
        (caller, account): (Process, &Name),
        secret: Name,
        bytes: &[u8],
    ) -> Result<[u8; 32], CredError> {
        self.owned(caller, account, &secret).await?;
        let value = self.ask(|reply| VaultRequest::Compare(secret, reply)).await?;
        Ok(signature(&value, bytes)?.finalize().into_bytes().into())
    }

    /// Refuses a secret that is not the account's, and puts that on the record.
    async fn owned(&self, caller: Process, account: &Name, secret: &Name) -> Result<(), CredError> {
        if self.accounts.owns(caller, account, secret) {
            return Ok(());
        }
        tracing::warn!(caller = caller.name(), "refused: a proof by a secret that is not its own");
        let event = Event::new(Action::SecretMisdirected, Result3::Blocked).about(secret);
        self.note(event.because("not a secret of the caller")).await;
        Err(CredError::NotBound)
    }
}

/// Returns true if `given` is the signature of `signed`.
fn is_signed(secret: &Secret, signed: &[u8], given: &[u8]) -> Result<bool, CredError> {
    Ok(signature(secret, signed)?.verify_slice(given).is_ok())
}

/// The signature of these bytes, under the secret or the key that it holds in base64.
fn signature(secret: &Secret, bytes: &[u8]) -> Result<Hmac<Sha256>, CredError> {
    let key = match secret.reveal().strip_prefix(BASE64_KEY) {
        Some(text) => Zeroizing::new(STANDARD.decode(text).map_err(|_| CredError::BadValue)?),
        None => Zeroizing::new(secret.reveal().to_vec()),
    };
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| CredError::BadValue)?;
    mac.update(bytes);
    Ok(mac)
}

/// Returns true if `given` is the secret. Both are hashed under a key of the moment, so that neither their bytes nor their lengths
/// show in the time it takes.
fn is_equal(secret: &Secret, given: &[u8]) -> bool {
    let mut key = [0; 32];
    if getrandom::fill(&mut key).is_err() {
        return false;
    }
    let mac = |bytes: &[u8]| {
        Hmac::<Sha256>::new_from_slice(&key).ok().map(|mut mac| {
            mac.update(bytes);
            mac
        })
    };
    let (Some(held), Some(given)) = (mac(secret.reveal()), mac(given)) else { return false };
    held.verify(&given.finalize().into_bytes()).is_ok()
}

/// The step of a code, if it is the one of `now`, or of the step before or after it.
fn step_of(secret: &Secret, now: u64, given: &[u8]) -> Result<Option<u64>, CredError> {
    let text = Zeroizing::new(secret.reveal().to_ascii_uppercase());
    let digits = Zeroizing::new(text.iter().copied().filter(|b| !b" -=".contains(b)).collect::<Vec<u8>>());
    let key = Zeroizing::new(BASE32_NOPAD.decode(&digits).map_err(|_| CredError::BadValue)?);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key);
    let steps = [now.saturating_sub(1), now, now.saturating_add(1)];
    let mut found = None;
    // Every step is looked at, so that the time it takes says nothing.
    for step in steps {
        if is_equal_code(&code(&key, step), given) {
            found = Some(step);
        }
    }
    Ok(found)
}

/// The digits of a step, RFC 4226 section 5.3.
fn code(key: &ring::hmac::Key, step: u64) -> String {
    let tag = ring::hmac::sign(key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    let at = bytes.last().map_or(0, |byte| usize::from(byte & 15));
    let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).unwrap_or_default();
    let number = u32::from_be_bytes(word) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

fn is_equal_code(code: &str, given: &[u8]) -> bool {
    let differs = code.bytes().zip(given).fold(0, |differs, (one, other)| differs | (one ^ other));
    given.len() == DIGITS && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secret(text: &str) -> Secret {
        Secret::new(Zeroizing::new(text.as_bytes().to_vec())).unwrap()
    }

    /// RFC 6238, appendix B, by its last six digits; the key is `12345678901234567890`.
    #[test]
    fn codes_are_those_of_the_standard() {
        let key = secret("gezd gnbv gy3t qojq GEZDGNBVGY3TQOJQ");
        for (second, code) in
            [(59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (2_000_000_000, "279037")]
        {
            let step = second / STEP;
            assert_eq!(step_of(&key, step, code.as_bytes()).unwrap(), Some(step), "{second}");
            assert_eq!(step_of(&key, step + 1, code.as_bytes()).unwrap(), Some(step), "one late");
            assert_eq!(step_of(&key, step + 2, code.as_bytes()).unwrap(), None, "two late");
        }
        for wrong in ["28708", "2870820", "", "28708\u{0}"] {
            assert_eq!(step_of(&key, 1, wrong.as_bytes()).unwrap(), None);
        }
        assert_eq!(step_of(&secret("not base32!"), 1, b"287082"), Err(CredError::BadValue));
    }

    // Holds P4-38.
    #[test]
    fn a_code_is_accepted_once_and_no_earlier_one_after_it() {
        let (proofs, name) = (Proofs::default(), Name::clip("totp"));
        assert!(proofs.is_first(&name, 7));
        assert!(!proofs.is_first(&name, 7) && !proofs.is_first(&name, 6));
        assert!(proofs.is_first(&name, 8) && proofs.is_first(&Name::clip("other"), 7));
    }

    // Holds P4-38.
    #[test]
    fn after_so_many_wrong_proofs_no_more_are_looked_at() {
        let (proofs, name) = (Proofs::default(), Name::clip("totp"));
        for _ in 0..Proof::Totp.most_wrong() {
            assert!(proofs.admits(&name, Proof::Totp));
            proofs.count_wrong(&name, Proof::Totp);
        }
        assert!(!proofs.admits(&name, Proof::Totp));
        assert!(proofs.admits(&name, Proof::Equal) && proofs.admits(&Name::clip("other"), Proof::Totp));
    }

    /// The example of RFC 4231, test case 2.
    #[test]
    fn a_signature_is_of_these_bytes_by_this_key() {
        let key = secret("whsec_SmVmZQ==");
        let signed = b"what do ya want for nothing?";
        let tag = data_encoding::HEXLOWER
            .decode(b"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
            .unwrap();
        assert!(is_signed(&key, signed, &tag).unwrap());
        assert!(!is_signed(&key, b"what do ya want for nothing", &tag).unwrap());
        assert!(!is_signed(&key, signed, tag.get(..31).unwrap()).unwrap());
        assert!(!is_signed(&secret("Jefe0000"), signed, &tag).unwrap());
        assert_eq!(is_signed(&secret("whsec_%%%"), signed, &tag), Err(CredError::BadValue));
    }

    proptest! {
        #[test]
        fn only_the_secret_itself_is_equal_to_it(held in "[!-~]{8,24}", given in "[!-~]{0,24}") {
            prop_assert_eq!(is_equal(&secret(&held), given.as_bytes()), held == given);
            prop_assert!(is_equal(&secret(&held), held.as_bytes()));
        }
    }
}
