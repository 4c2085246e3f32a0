//! Approvals on their way through the hands of others.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::approval_ref::ApprovalRef;
use super::call::Approval;
use super::ops::mismatch;
use super::state::Session;
use crate::data::hex::hex_text;
use crate::data::{SessionId, SessionUid};
use crate::error::{JsonError, SessionError};
use crate::json::{self, Document};

/// A request for agreement that leaves the process, signed: whoever brings it back cannot have changed it.
///
/// ```
/// use allm_core::session::Session;
///
/// let session = Session::new("order-42")?;
/// assert!(session.approval_tokens(b"a secret of the application")?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalToken {
    /// The session.
    pub session: SessionId,
    /// Which of the sessions that had this id.
    pub uid: SessionUid,
    /// What is asked for.
    pub approval: Approval,
    /// HMAC-SHA256 over all of it.
    pub mac: Mac,
}

impl Document for ApprovalToken {
    const TYPE: &'static str = "approval_token";
}

/// An HMAC-SHA256, written `hmac-sha256:` and 64 lower-case hex digits. Compared in constant time.
#[derive(Clone, Copy)]
pub struct Mac([u8; 32]);

hex_text!(Mac, "hmac-sha256:");

impl PartialEq for Mac {
    /// The time that it takes does not tell where they differ.
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        let differences = pairs.fold(0, |found, (one, two)| found | (one ^ two));
        std::hint::black_box(differences) == 0
    }
}

impl Eq for Mac {}

/// What is signed.
#[derive(Serialize)]
struct Signed<'a> {
    purpose: &'static str,
    session: &'a SessionId,
    uid: SessionUid,
    approval: &'a Approval,
}

impl ApprovalToken {
    /// Signs a request for agreement.
    ///
    /// # Errors
    ///
    /// When the arguments cannot be written as JSON.
    pub fn sign(
        session: SessionId,
        uid: SessionUid,
        approval: Approval,
        secret: &[u8],
    ) -> Result<Self, JsonError> {
        let mac = mac_of(&session, uid, &approval, secret)?;
        Ok(Self {
            session,
            uid,
            approval,
            mac,
        })
    }

    /// What a decision about this session names, if the token is one that was given out for it.
    ///
    /// # Errors
    ///
    /// `approval_mismatch` when it was not signed with this secret, was changed since, or belongs to another session.
    pub fn open(&self, session: &Session, secret: &[u8]) -> Result<ApprovalRef, SessionError> {
        let expected = mac_of(&self.session, self.uid, &self.approval, secret)?;
        let fits = expected == self.mac
            && self.session == *session.id()
            && Some(self.uid) == session.uid();
        if fits {
            Ok(ApprovalRef::from(&self.approval))
        } else {
            Err(mismatch())
        }
    }
}

impl Session {
    /// The open requests for agreement as tokens, in call order.
    ///
    /// # Errors
    ///
    /// When arguments cannot be written as JSON.
    pub fn approval_tokens(&self, secret: &[u8]) -> Result<Vec<ApprovalToken>, JsonError> {
        let Some(uid) = self.uid else {
            return Ok(Vec::new());
        };
        let approvals = self.approvals().into_iter();
        approvals
            .map(|approval| ApprovalToken::sign(self.id.clone(), uid, approval, secret))
            .collect()
    }
}

fn mac_of(
    session: &SessionId,
    uid: SessionUid,
    approval: &Approval,
    secret: &[u8],
) -> Result<Mac, JsonError> {
    let bytes = json::canonical(&Signed {
        purpose: "allm-approval-1",
        session,
        uid,
        approval,
    })?;
    Ok(hmac(secret, &bytes))
}

/// RFC 2104 over SHA-256.
fn hmac(secret: &[u8], message: &[u8]) -> Mac {
    const BLOCK: usize = 64;
    let hashed: [u8; 32];
    let secret = if secret.len() > BLOCK {
        hashed = Sha256::digest(secret).into();
        &hashed[..]
    } else {
        secret
    };
    let padded = |pad: u8| {
        let mut block = [pad; BLOCK];
        for (byte, key) in block.iter_mut().zip(secret) {
            *byte ^= key;
        }
        block
    };
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(message)
        .finalize();
    let outer = Sha256::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize();
    Mac(outer.into())
}

#[cfg(test)]
mod tests {
    use super::hmac;

    /// The cases of RFC 4231 that show short keys, long keys and long messages.
    #[test]
    fn hmac_gives_the_published_values() {
        let long = [0xaa; 131];
        let cases: [(&[u8], &[u8], &str); 4] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &long,
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &long,
                b"This is a test using a larger than block-size key and a larger than block-size data. \
                  The key needs to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (secret, message, expected) in cases {
            let mac = hmac(secret, message).to_string();
            assert_eq!(mac, format!("hmac-sha256:{expected}"));
        }
    }
}
