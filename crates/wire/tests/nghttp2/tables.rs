//! nghttp2's HPACK: the other opinion.

#![expect(unsafe_code, reason = "calls of a C library")]

use libnghttp2_sys as ffi;
use std::ffi::c_int;
use std::ptr;

/// A name and a value.
pub(crate) type Field = (Vec<u8>, Vec<u8>);

/// Reads header blocks.
pub(crate) struct Inflater(*mut ffi::nghttp2_hd_inflater);

impl Inflater {
    /// With the table of 4096 octets that every connection begins with.
    pub(crate) fn new() -> Self {
        let mut raw = ptr::null_mut();
        // SAFETY: the place is valid for the library to write to.
        let made = unsafe { ffi::nghttp2_hd_inflate_new(&raw mut raw) };
        assert_eq!(made, 0);
        Self(raw)
    }

    /// The peer has taken a SETTINGS_HEADER_TABLE_SIZE.
    pub(crate) fn allow(&mut self, size: u32) {
        // SAFETY: the inflater is live and no block is under way.
        let done = unsafe { ffi::nghttp2_hd_inflate_change_table_size(self.0, size as usize) };
        assert_eq!(done, 0);
    }

    /// The fields of a whole block; `None` when it is none. Nothing can be read after that.
    pub(crate) fn inflate(&mut self, block: &[u8]) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        let mut rest = block;
        loop {
            let mut field = ffi::nghttp2_nv {
                name: ptr::null_mut(),
                value: ptr::null_mut(),
                namelen: 0,
                valuelen: 0,
                flags: 0,
            };
            let mut flags: c_int = 0;
            // SAFETY: the inflater is live, the places are valid, and `rest` is for its length.
            let taken = unsafe {
                ffi::nghttp2_hd_inflate_hd2(
                    self.0,
                    &raw mut field,
                    &raw mut flags,
                    rest.as_ptr(),
                    rest.len(),
                    1,
                )
            };
            rest = &rest[usize::try_from(taken).ok()?..];
            if flags as u32 & ffi::NGHTTP2_HD_INFLATE_EMIT != 0 {
                // SAFETY: both are valid until the inflater is called again.
                let (name, value) = unsafe {
                    (
                        std::slice::from_raw_parts(field.name, field.namelen),
                        std::slice::from_raw_parts(field.value, field.valuelen),
                    )
                };
                fields.push((name.to_vec(), value.to_vec()));
            }
            if flags as u32 & ffi::NGHTTP2_HD_INFLATE_FINAL != 0 {
                // SAFETY: the inflater is live.
                unsafe { ffi::nghttp2_hd_inflate_end_headers(self.0) };
                return Some(fields);
            }
        }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: made by `new`, deleted once.
        unsafe { ffi::nghttp2_hd_inflate_del(self.0) }
    }
}

/// Writes header blocks.
pub(crate) struct Deflater(*mut ffi::nghttp2_hd_deflater);

impl Deflater {
    /// With the table of 4096 octets that every connection begins with, and never a larger one.
    pub(crate) fn new() -> Self {
        let mut raw = ptr::null_mut();
        // SAFETY: the place is valid for the library to write to.
        let made = unsafe { ffi::nghttp2_hd_deflate_new(&raw mut raw, 4096) };
        assert_eq!(made, 0);
        Self(raw)
    }

    /// The peer allows a table of this size.
    pub(crate) fn allow(&mut self, size: u32) {
        // SAFETY: the deflater is live.
        let done = unsafe { ffi::nghttp2_hd_deflate_change_table_size(self.0, size as usize) };
        assert_eq!(done, 0);
    }

    /// A block of these fields.
    pub(crate) fn deflate(&mut self, fields: &[Field]) -> Vec<u8> {
        let raw: Vec<_> = fields
            .iter()
            .map(|(name, value)| ffi::nghttp2_nv {
                // Declared mutable, and not written to.
                name: name.as_ptr().cast_mut(),
                value: value.as_ptr().cast_mut(),
                namelen: name.len(),
                valuelen: value.len(),
                flags: 0,
            })
            .collect();
        // SAFETY: the deflater is live, the fields are valid, and what they point to lives on.
        let most = unsafe { ffi::nghttp2_hd_deflate_bound(self.0, raw.as_ptr(), raw.len()) };
        let mut block = vec![0; most];
        // SAFETY: as above; the block is valid for its length.
        let length = unsafe {
            ffi::nghttp2_hd_deflate_hd2(
                self.0,
                block.as_mut_ptr(),
                block.len(),
                raw.as_ptr(),
                raw.len(),
            )
        };
        block.truncate(usize::try_from(length).expect("within the bound"));
        block
    }
}

impl Drop for Deflater {
    fn drop(&mut self) {
        // SAFETY: made by `new`, deleted once.
        unsafe { ffi::nghttp2_hd_deflate_del(self.0) }
    }
}
