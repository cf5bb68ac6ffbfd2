import type { Authentication, DmarcResult, Verdict } from "../../domain/receive/authentication.ts";
import { type Check, verdictOf } from "../../domain/receive/verdict.ts";
import type { SenderHost } from "../read/received.ts";
import { type JudgedChain, judgeChain } from "./arc.ts";
import { type JudgedSignature, judgeSignature } from "./dkim.ts";
import { type FoundPolicy, findPolicy } from "./dmarc.ts";
import { type AskedQuestion, questions, type Recall, type Resolve } from "./questions.ts";
import { isHeavy, type MailReading, readMail } from "./read-mail.ts";
import { type CheckedSpf, checkSpf, spfDomainOf, spfFromResults } from "./spf.ts";

/** A mail whose sender is authenticated. */
export interface MailToAuthenticate {
  raw: Uint8Array;
  /** The reverse path of the envelope, which is "" for a bounce. */
  from: string;
  client: SenderHost;
}

export interface AuthenticationOptions {
  resolve: Resolve;
  /** Reuses findings about earlier mails whose answers the memory of the DNS still has. */
  recall?: Recall;
  settings: AuthenticationSettings;
  now: Date;
  /** Reads a heavy mail in another process. The result is undefined if it was killed, or if none was free in time. */
  readApart?: (raw: Uint8Array, signal: AbortSignal) => Promise<MailReading | undefined>;
  /** Called for each step, to explain the verdict. */
  onStep?: (step: AuthenticationStep) => void;
}

export interface AuthenticationSettings {
  /** AUTH_TIMEOUT_MS: the time limit for all checks. */
  timeoutMs: number;
  /** The name of this host, for the macro `%{r}` of SPF. */
  hostname: string;
  /** TRUSTED_ARC_SEALERS, in lower case. */
  trustedSealers: readonly string[];
  /** TRUSTED_AUTHSERV_IDS, in lower case. */
  trustedAuthservIds: readonly string[];
}

export type AuthenticationStep =
  | ({ part: "dns" } & AskedQuestion)
  | { part: "from" | "spf" | "dkim" | "arc" | "dmarc"; subject: string; result: string; comment: string };

/**
 * Authenticates the sender of a mail. It ends within the time limit, when open questions to the DNS fail. SPF, DKIM, ARC and the search for
 * the DMARC record run at once. That search has questions of its own, so that a domain in the envelope cannot use them up.
 */
export async function authenticateMail(
  mail: MailToAuthenticate,
  options: AuthenticationOptions,
): Promise<Authentication> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), options.settings.timeoutMs);
  try {
    return await authenticateBefore(ending.signal, mail, options);
  } finally {
    clearTimeout(timer);
  }
}

async function authenticateBefore(
  signal: AbortSignal,
  { raw, from, client }: MailToAuthenticate,
  { resolve, recall, settings, now, readApart, onStep }: AuthenticationOptions,
): Promise<Authentication> {
  const onAnswer = onStep && ((asked: AskedQuestion) => onStep({ part: "dns", ...asked }));
  const forPolicy = questions({ resolve, recall, signal, most: mostQuestions.policy, onAnswer });
  const forChecks = questions({ resolve, recall, signal, most: mostQuestions.checks, onAnswer });

  const reading = readApart !== undefined && isHeavy(raw) ? await readApart(raw, signal) : readMail(raw);
  const { fromDomain, signatures, arc: chain, results } = reading ?? unread;
  const upstream = client.isTrusted ? await spfFromResults(results, settings.trustedAuthservIds) : undefined;
  const sender = { address: client.address, heloName: client.heloName, from };
  const spfDomain = upstream === undefined ? spfDomainOf(sender) : upstream.domain;
  const dkimDomains = [...new Set(signatures.map(({ domain }) => domain))];
  const [spf, judged, arc, policy] = await Promise.all([
    upstream ?? checkSpf(sender, forChecks, settings.hostname),
    Promise.all(signatures.map((signature) => judgeSignature(signature, forChecks, now))),
    judgeChain(chain, forChecks, now),
    fromDomain === undefined ? undefined : findPolicy(fromDomain, { spf: spfDomain, dkim: dkimDomains }, forPolicy),
  ]);

  const checks: Check[] = [
    { result: checkResult(spf.result), alignment: (spf.domain !== null && policy?.spf) || "other" },
    ...judged.map(({ result }, index) => ({
      result: checkResult(result),
      alignment: policy?.dkim.get(signatures[index]?.domain ?? "") ?? "other",
    })),
  ];
  const isVouchedFor = fromDomain !== undefined && arc.passedFor === fromDomain && isTrustedSealer(arc, settings);
  const record = policy?.record ?? "none";
  const findings = { hasDomain: fromDomain !== undefined, record, checks };
  const own = verdictOf({ ...findings, isVouchedFor: false });
  const dmarc = { result: dmarcResult(own, record), policy: policy?.policy ?? null };
  const authentication: Authentication = {
    verdict: reading === undefined ? "temperror" : verdictOf({ ...findings, isVouchedFor }),
    domain: fromDomain ?? null,
    internal: false,
    spf: { result: spf.result, domain: spf.domain, aligned: checks[0]?.alignment === "aligned" },
    dkim: signatures.map(({ domain, selector }, index) => ({
      result: judged[index]?.result ?? "neutral",
      domain,
      selector,
      aligned: checks[index + 1]?.alignment === "aligned",
    })),
    dmarc,
    arc: arc.arc,
    source: isVouchedFor && own !== "pass" ? "arc" : upstream === undefined ? "checked" : "upstream",
    clientAddress: client.address ?? null,
    tls: client.isTls,
  };
  if (onStep !== undefined) explain(authentication, { spf, judged, arc, policy }, onStep);
  return authentication;
}

/** The most questions to the DNS about one mail (contract §22): 40 together. A tree walk takes up to eight. */
const mostQuestions = { policy: 12, checks: 28 };

/** The reading of a mail whose process was killed, or for which no process was free. */
const unread: MailReading = { fromDomain: undefined, signatures: [], arc: undefined, results: [] };

function checkResult(result: string): Check["result"] {
  if (result === "pass") return "pass";
  return result === "temperror" ? "unknown" : "other";
}

function dmarcResult(verdict: Verdict, record: FoundPolicy["record"]): DmarcResult {
  if (record === "none" || verdict === "none") return "none";
  return record === "unknown" ? "temperror" : verdict;
}

function isTrustedSealer({ arc }: JudgedChain, { trustedSealers }: AuthenticationSettings): boolean {
  const last = arc.sealers.at(-1);
  return arc.result === "pass" && last !== undefined && trustedSealers.includes(last);
}

interface Parts {
  spf: CheckedSpf;
  judged: readonly JudgedSignature[];
  arc: JudgedChain;
  policy: FoundPolicy | undefined;
}

function explain(
  { domain, spf, dkim, dmarc, arc }: Authentication,
  parts: Parts,
  onStep: (step: AuthenticationStep) => void,
): void {
  onStep({ part: "from", subject: domain ?? "", result: domain === null ? "none" : "found", comment: "" });
  onStep({ part: "spf", subject: spf.domain ?? "", result: spf.result, comment: parts.spf.comment });
  for (const [index, { domain: signer, selector, result }] of dkim.entries()) {
    onStep({
      part: "dkim",
      subject: `${selector}._domainkey.${signer}`,
      result,
      comment: parts.judged[index]?.fault ?? "",
    });
  }
  if (arc.result !== "none") {
    onStep({ part: "arc", subject: arc.sealers.join(", "), result: arc.result, comment: parts.arc.comment });
  }
  onStep({
    part: "dmarc",
    subject: parts.policy?.publishedBy ?? "",
    result: dmarc.result,
    comment: dmarc.policy ?? "",
  });
}
