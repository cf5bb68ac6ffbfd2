/** The sender authentication of an inbound mail: SPF (RFC 7208), DKIM (RFC 6376), DMARC (RFC 9989) and ARC (RFC 8617). */
export interface Authentication {
  /**
   * Whether the domain in `From` sent the mail. `pass`: SPF or DKIM passes for it. `fail`: it publishes DMARC and neither passes, or `From`
   * is missing or has several addresses. `none`: it publishes nothing, and neither passes. `temperror`: not decided in time.
   */
  verdict: Verdict;
  /** The domain in `From`, in lower case and with A-labels; null if there is not exactly one. */
  domain: string | null;
  /** Whether another inbox of this service sent the mail. It then passes, and nothing is checked. */
  internal: boolean;
  spf: { result: SpfResult; domain: string | null; aligned: boolean };
  dkim: DkimSignature[];
  dmarc: { result: DmarcResult; policy: DmarcPolicy | null };
  arc: { result: ArcResult; sealers: string[] };
  /** How the verdict was reached: by our own checks, by a sealer in TRUSTED_ARC_SEALERS, or by the header of a trusted relay. */
  source: "checked" | "arc" | "upstream";
  /** The address of the host that sent the mail; null if it is unknown. */
  clientAddress: string | null;
  /** Whether that host used TLS. */
  tls: boolean;
}

/** Returns the authentication with its fields in the order of the API. Postgres keeps the fields of a `jsonb` in an order of its own. */
export function inContractOrder(authentication: Authentication): Authentication {
  const { verdict, domain, internal, spf, dkim, dmarc, arc, source, clientAddress, tls } = authentication;
  return {
    verdict,
    domain,
    internal,
    spf: { result: spf.result, domain: spf.domain, aligned: spf.aligned },
    dkim: dkim.map(({ result, domain, selector, aligned }) => ({ result, domain, selector, aligned })),
    dmarc: { result: dmarc.result, policy: dmarc.policy },
    arc: { result: arc.result, sealers: arc.sealers },
    source,
    clientAddress,
    tls,
  };
}

export const verdicts = ["pass", "fail", "none", "temperror"] as const;
export type Verdict = (typeof verdicts)[number];

export const spfResults = ["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"] as const;
export type SpfResult = (typeof spfResults)[number];

export const dkimResults = ["pass", "fail", "policy", "neutral", "temperror", "permerror"] as const;
export type DkimResult = (typeof dkimResults)[number];

export interface DkimSignature {
  result: DkimResult;
  domain: string;
  selector: string;
  /** Whether the domain of the signature is that of `From`, as its DMARC record asks. */
  aligned: boolean;
}

export const dmarcResults = ["pass", "fail", "none", "temperror", "permerror"] as const;
export type DmarcResult = (typeof dmarcResults)[number];

export const dmarcPolicies = ["none", "quarantine", "reject"] as const;
export type DmarcPolicy = (typeof dmarcPolicies)[number];

export const arcResults = ["pass", "fail", "none", "temperror"] as const;
export type ArcResult = (typeof arcResults)[number];

/** The opinion of the operator's spam filter about a mail. */
export interface Spam {
  score: number;
  /** The score from which a mail is spam; null if the filter does not say. */
  required: number | null;
  isSpam: boolean;
}

/**
 * AUTHENTICATE: which mail from outside is checked. `auto`: mail of a host with a public address, or with an unknown one; none in sandbox
 * mode.
 */
export const authenticateChoices = ["auto", "always", "off"] as const;
export type AuthenticateChoice = (typeof authenticateChoices)[number];
