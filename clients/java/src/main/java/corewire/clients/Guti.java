package corewire.clients;

/** A 5G-GUTI (3GPP TS 23.003 clause 2.10). */
record Guti(int mcc, int mnc, int mncDigits, int amfRegion, int amfSet, int amfPointer, long tmsi) {

    boolean isWellFormed() {
        return mcc >= 0
                && mcc <= 999
                && mnc >= 0
                && (mncDigits == 2 && mnc <= 99 || mncDigits == 3 && mnc <= 999)
                && amfRegion >> 8 == 0
                && amfSet >> 10 == 0
                && amfPointer >> 6 == 0
                && tmsi >= 0
                && tmsi < 0xffffffffL;
    }

    @Override
    public String toString() {
        String mncText = String.format("%0" + mncDigits + "d", mnc);
        return String.format(
                "5g-guti-%03d%s%02x%04x%08x", mcc, mncText, amfRegion, amfSet << 6 | amfPointer, tmsi);
    }
}
