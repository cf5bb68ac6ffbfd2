/**
 * The parts of mailauth, loaded with the first mail that needs them: they take 20 MB and 0.2 seconds. Its own DKIM verifier is not used,
 * since it has no bound on signatures, and takes several times as long (docs/decisions/receiving.md).
 */
export const mailauth = {
  spf: onFirstUse(async () => (await import("mailauth/lib/spf")).spf),
  dmarc: onFirstUse(async () => ({
    evaluate: (await import("mailauth/lib/dmarc")).evaluateDmarc,
    aligned: (await import("mailauth/lib/tools")).getAlignment,
  })),
  arc: onFirstUse(() => import("mailauth/lib/arc")),
  parseField: onFirstUse(async () => (await import("mailauth/lib/parse-dkim-headers")).default),
};

function onFirstUse<Part>(load: () => Promise<Part>): () => Promise<Part> {
  let loaded: Promise<Part> | undefined;
  return () => {
    loaded ??= load();
    return loaded;
  };
}
