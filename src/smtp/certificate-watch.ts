import type { Certificate } from "./self-signed.ts";

export interface CertificateWatchOptions {
  /** The certificate at the start. */
  inForce: Certificate;
  /** Reads the certificate from its files. Rejects if they have no matching pair. */
  read: () => Promise<Certificate>;
  /** Uses a certificate for new sessions. Throws if it is invalid: the old one then stays. */
  use: (certificate: Certificate) => void;
  /** The time between two looks at the files. Undefined: only `readNow` reads them. */
  everyMs: number | undefined;
  observe: { renewed(): void; unusable(reason: string): void };
}

export interface CertificateWatch {
  /** Reads the certificate, and uses it. Rejects if it cannot be used: the old one then stays. */
  readNow(): Promise<void>;
  stop(): void;
}

/**
 * Uses a new certificate soon after its files have changed. It compares the content: a renewal may keep the time of a file, and files
 * behind a symbolic link are not watched by the system. A renewal may replace the two files one after the other, so a pair that does not
 * match is reported once and read again at the next look.
 */
export function watchCertificate(options: CertificateWatchOptions): CertificateWatch {
  const { read, use, everyMs, observe } = options;
  let { inForce } = options;
  let reported: string | undefined;
  const timer = everyMs === undefined ? undefined : setInterval(() => void look(), everyMs);
  timer?.unref();

  async function look(): Promise<void> {
    try {
      const found = await read();
      if (found.cert !== inForce.cert || found.key !== inForce.key) {
        start(found);
        observe.renewed();
      }
      reported = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== reported) observe.unusable(reason);
      reported = reason;
    }
  }

  function start(certificate: Certificate): void {
    use(certificate);
    inForce = certificate;
  }

  return {
    readNow: async () => start(await read()),
    stop: () => clearInterval(timer),
  };
}
