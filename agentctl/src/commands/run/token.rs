//! The token that resumes a run: its turn and, if it has a session of its own, that session. Pure.

use ipc_proto::Text;
use ipc_proto::ids::TurnId;
use ipc_proto::router::SessionName;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The separator of a token's parts.
const MARK: char = '/';
/// The last part if the workspace is a directory of the person's own.
const ATTACHED: &str = "attached";

/// A run's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Its turn.
    pub(super) turn: TurnId,
    /// The unnamed session that is removed with it.
    pub(super) throw_away: Option<ThrowAway>,
}

/// An unnamed session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThrowAway {
    /// Its name.
    pub(super) session: SessionName,
    /// True if its workspace is removed as well.
    pub(super) own_folder: bool,
}

/// The text is not a token.
#[derive(Debug, thiserror::Error)]
#[error("not the token of a run")]
pub(super) struct NoToken;

impl Display for Token {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.turn)?;
        match &self.throw_away {
            None => Ok(()),
            Some(ThrowAway { session, own_folder: true }) => write!(f, "{MARK}{session}"),
            Some(ThrowAway { session, .. }) => write!(f, "{MARK}{session}{MARK}{ATTACHED}"),
        }
    }
}

impl FromStr for Token {
    type Err = NoToken;

    fn from_str(text: &str) -> Result<Self, NoToken> {
        let mut parts = text.split(MARK);
        let turn = parts.next().and_then(|turn| turn.parse().ok()).ok_or(NoToken)?;
        let (session, attached, more) = (parts.next(), parts.next(), parts.next());
        let throw_away = match (session, attached) {
            (None, _) => None,
            (Some(session), None | Some(ATTACHED)) if is_unnamed(session) => Some(ThrowAway {
                session: Text::new(session).map_err(|_| NoToken)?,
                own_folder: attached.is_none(),
            }),
            _ => return Err(NoToken),
        };
        if more.is_some() { Err(NoToken) } else { Ok(Self { turn, throw_away }) }
    }
}

/// Accepts only a name that [`crate::commands::sandbox::unnamed`] makes: a token removes no other session.
fn is_unnamed(session: &str) -> bool {
    session.strip_prefix("run-").is_some_and(|id| uuid::Uuid::parse_str(id).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::sandbox::unnamed;

    #[test]
    fn a_token_says_its_turn_and_the_session_that_goes_with_it() {
        let turn = TurnId::random();
        for throw_away in [
            None,
            Some(ThrowAway { session: unnamed(), own_folder: true }),
            Some(ThrowAway { session: unnamed(), own_folder: false }),
        ] {
            let token = Token { turn, throw_away };
            assert_eq!(token.to_string().parse::<Token>().unwrap(), token);
        }
    }

    // Holds P1-23.
    #[test]
    fn nothing_else_is_a_token_and_no_session_of_a_name_goes_by_one() {
        let turn = TurnId::random();
        let unnamed = unnamed();
        for wrong in [
            String::new(),
            "nothing".to_owned(),
            format!("{turn}/main"),
            format!("{turn}/run-mine"),
            format!("{turn}/{unnamed}/kept"),
            format!("{turn}/{unnamed}/attached/more"),
            format!("/{unnamed}"),
        ] {
            assert!(wrong.parse::<Token>().is_err(), "{wrong}");
        }
    }
}
