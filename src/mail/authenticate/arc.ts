import type { Authentication } from "../../domain/receive/authentication.ts";
import { asciiDomain } from "../../standards/address.ts";
import { judgeSignature } from "./dkim.ts";
import { mailauth } from "./mailauth-parts.ts";
import type { Questions } from "./questions.ts";
import type { MailReading } from "./read-mail.ts";
import { readTagList } from "./tag-list.ts";

export interface JudgedChain {
  arc: Authentication["arc"];
  /** The domain for which the last sealer says that DMARC passed; only for a chain that passes. */
  passedFor: string | undefined;
  comment: string;
}

const noChain: JudgedChain = { arc: { result: "none", sealers: [] }, passedFor: undefined, comment: "" };

/**
 * Verifies an ARC chain (RFC 8617 §5.2). The last message signature is verified as a DKIM signature is; mailauth verifies the seals. A chain
 * with more than 64 KiB of fields fails.
 */
export async function judgeChain(arc: MailReading["arc"], questions: Questions, now: Date): Promise<JudgedChain> {
  if (arc === undefined) return noChain;
  const fields = arc.fields.map((text) => ({ key: nameOf(text), line: Buffer.from(text, "latin1") }));
  const sealers = sealersIn(arc.fields);
  const fail = (comment: string): JudgedChain => ({ arc: { result: "fail", sealers }, passedFor: undefined, comment });
  if (arc.message === undefined) return fail("it has no readable message signature");
  const { getARChain, arc: verifyChain } = await mailauth.arc();
  const chain = attempt(() => getARChain({ parsed: fields }, { strict: true }));
  const last = chain === undefined || chain === false ? undefined : chain.at(-1);
  if (chain === undefined || chain === false || last === undefined) return fail("its fields are not in order");
  const message = await judgeSignature(arc.message, questions, now);
  if (message.result === "temperror")
    return { ...fail("the DNS did not answer"), arc: { result: "temperror", sealers } };
  if (message.result !== "pass") return fail(`its message signature: ${message.fault}`);
  // The message signature was verified above, so only its result is given.
  const lastEntry = { ...last, messageSignature: { status: { result: "pass" } } as never };
  const { status, authenticationResults } = await verifyChain({ chain, lastEntry }, {
    resolver: questions.ask,
    minBitLength: 1024,
    strict: true,
  } as never);
  if (status.result !== "pass") {
    const result = questions.hasFailed() ? "temperror" : "fail";
    return { arc: { result, sealers }, passedFor: undefined, comment: status.comment || "a seal is not valid" };
  }
  const { result, header } = authenticationResults?.dmarc ?? {};
  const from: unknown = header?.from;
  return {
    arc: { result: "pass", sealers },
    passedFor: result === "pass" && typeof from === "string" ? asciiDomain(from) : undefined,
    comment: status.comment || "",
  };
}

function nameOf(text: string): string {
  return text.slice(0, text.indexOf(":")).trim().toLowerCase();
}

/** The domains of the seals, in the order in which they were set. */
function sealersIn(fields: readonly string[]): string[] {
  const seals = fields.flatMap((text) => {
    const tags = nameOf(text) === "arc-seal" ? readTagList(text.slice(text.indexOf(":") + 1)) : undefined;
    const domain = asciiDomain(tags?.get("d") ?? "");
    return domain === undefined ? [] : [{ domain, instance: Number(tags?.get("i")) || 0 }];
  });
  return seals
    .toSorted((a, b) => a.instance - b.instance)
    .slice(0, mostSealers)
    .map(({ domain }) => domain);
}

/** The most sets of a chain (RFC 8617 §4.2.1). */
const mostSealers = 50;

function attempt<Value>(action: () => Value): Value | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
