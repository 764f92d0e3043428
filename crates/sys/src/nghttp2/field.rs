//! Header fields on their way out.

use libnghttp2_sys as ffi;
use std::marker::PhantomData;

/// One header field to be sent. nghttp2 copies what does not live as long as the program.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Field<'a> {
    raw: ffi::nghttp2_nv,
    borrows: PhantomData<&'a [u8]>,
}

// SAFETY: a field is two borrowed slices of immutable octets.
unsafe impl Send for Field<'_> {}
// SAFETY: as above.
unsafe impl Sync for Field<'_> {}

impl<'a> Field<'a> {
    /// A field whose name and value are known when the program is written: copied never.
    #[must_use]
    pub const fn fixed(name: &'static str, value: &'static str) -> Field<'static> {
        Self::with_flags(
            name.as_bytes(),
            value.as_bytes(),
            ffi::NGHTTP2_NV_FLAG_NO_COPY_NAME | ffi::NGHTTP2_NV_FLAG_NO_COPY_VALUE,
        )
    }

    /// A field whose name is known when the program is written.
    #[must_use]
    pub const fn named(name: &'static str, value: &'a [u8]) -> Self {
        Self::with_flags(name.as_bytes(), value, ffi::NGHTTP2_NV_FLAG_NO_COPY_NAME)
    }

    /// Any field.
    #[must_use]
    pub const fn new(name: &'a [u8], value: &'a [u8]) -> Self {
        Self::with_flags(name, value, ffi::NGHTTP2_NV_FLAG_NONE)
    }

    /// The same, kept out of compression tables here and on the way (RFC 7541, 7.1.3): for
    /// secrets, and for values that do not come again, which would only push others out.
    #[must_use]
    pub const fn unindexed(mut self) -> Self {
        self.raw.flags |= ffi::NGHTTP2_NV_FLAG_NO_INDEX as u8;
        self
    }

    /// Whether it is kept out of compression tables.
    #[must_use]
    pub const fn is_unindexed(&self) -> bool {
        self.raw.flags & ffi::NGHTTP2_NV_FLAG_NO_INDEX as u8 != 0
    }

    const fn with_flags<'b>(
        name: &'b [u8],
        value: &'b [u8],
        flags: ffi::nghttp2_nv_flag,
    ) -> Field<'b> {
        Field {
            raw: ffi::nghttp2_nv {
                // nghttp2 declares these mutable and writes to neither: it lower-cases its copies.
                name: name.as_ptr().cast_mut(),
                value: value.as_ptr().cast_mut(),
                namelen: name.len(),
                valuelen: value.len(),
                flags: flags as u8,
            },
            borrows: PhantomData,
        }
    }

    /// Its name and value.
    #[must_use]
    pub const fn parts(&self) -> (&'a [u8], &'a [u8]) {
        // SAFETY: both were made from slices that live for `'a`.
        unsafe {
            (
                std::slice::from_raw_parts(self.raw.name, self.raw.namelen),
                std::slice::from_raw_parts(self.raw.value, self.raw.valuelen),
            )
        }
    }

    /// The array as the library wants it.
    pub(super) const fn as_raw(fields: &[Self]) -> *const ffi::nghttp2_nv {
        fields.as_ptr().cast()
    }
}

impl std::fmt::Debug for Field<'_> {
    /// Prints lengths only: values may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Field({} octets: {} octets)",
            self.raw.namelen, self.raw.valuelen
        )
    }
}
