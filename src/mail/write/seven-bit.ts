export interface SevenBitCheck {
  /** The next bytes, wherever they were cut. */
  see(bytes: Uint8Array): void;
  /** Whether all that was seen can go as it is. */
  holds(): boolean;
}

const maxLineBytes = 998;
const [carriageReturn, lineFeed] = [13, 10] as const;

/**
 * Whether bytes need no encoding in a mail (RFC 2045 §2.7): ASCII without NUL, in lines of at most 998 octets that end in CRLF. The
 * last line may lack its end, which the boundary behind it has.
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
