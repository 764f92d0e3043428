//! What ends say to each other, whoever they are.

use std::fmt;

/// A name and a value.
pub(crate) type Field = (Vec<u8>, Vec<u8>);

/// A request or a response.
#[derive(Clone)]
pub(crate) struct Message {
    pub(crate) fields: Vec<Field>,
    pub(crate) body: Vec<u8>,
    /// In pieces of so many octets.
    pub(crate) piece: usize,
    /// None when empty.
    pub(crate) trailers: Vec<Field>,
}

impl fmt::Debug for Message {
    /// How much of what: enough to see what a test has failed with.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = |fields: &[Field]| {
            let lengths = fields.iter();
            lengths
                .map(|(name, value)| (name.len(), value.len()))
                .collect::<Vec<_>>()
        };
        write!(
            f,
            "{:?} {} by {} {:?}",
            lengths(&self.fields),
            self.body.len(),
            self.piece,
            lengths(&self.trailers)
        )
    }
}

/// What an end has heard.
#[derive(Debug)]
pub(crate) enum Told {
    Fields(u32, Vec<Field>),
    Data(u32, Vec<u8>),
    End(u32),
    Closed(u32, u32),
    GoAway(u32),
    Pong,
}
