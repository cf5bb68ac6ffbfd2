export interface SevenBitCheck {
  /** Checks the next chunk. A chunk may end anywhere, even within a line. */
  see(bytes: Uint8Array): void;
  /** True if no byte seen so far needs an encoding. */
  holds(): boolean;
}

const maxLineBytes = 998;
const [carriageReturn, lineFeed] = [13, 10] as const;

/**
 * Checks that bytes need no encoding in a mail (RFC 2045 §2.7): ASCII without NUL, in lines of at most 998 octets that end in CRLF. The
 * last line may lack its line end, because the mail has one before the next boundary.
 */
export function sevenBitCheck(): SevenBitCheck {
  let isBroken = false;
  let lineBytes = 0;
  let afterReturn = false;

  return {
    see(bytes) {
      for (const byte of bytes) {
        if (isBroken) return;
        const endsLine = byte === lineFeed;
        if (endsLine !== afterReturn || byte === 0 || byte > 127) isBroken = true;
        afterReturn = byte === carriageReturn;
        if (endsLine) lineBytes = 0;
        else if (!afterReturn && ++lineBytes > maxLineBytes) isBroken = true;
      }
    },
    holds: () => !isBroken && !afterReturn,
  };
}
