import { type Schemas, verdictText } from "../api.ts";
import { Tag, type Tone } from "../parts/tag.tsx";

type Authentication = Schemas["Authentication"];

/** The verdict about the sender of a mail in words, with its reasons as a tooltip. */
export function VerdictTag({ authentication }: { authentication: Authentication }) {
  return (
    <span class="verdict" title={reasonsOf(authentication)}>
      <Tag tone={tones[authentication.verdict]}>{verdictText(authentication)}</Tag>
    </span>
  );
}

const tones: Readonly<Record<Authentication["verdict"], Tone>> = {
  pass: "good",
  fail: "bad",
  none: "plain",
  temperror: "warm",
};

/** The results of the checks in one line. */
export function reasonsOf({ internal, spf, dkim, dmarc, arc, source, clientAddress, tls }: Authentication): string {
  if (internal) return "It never left this service";
  const of = (domain: string | null, aligned: boolean) =>
    domain === null ? "" : ` for ${domain}${aligned ? "" : ", another domain than the sender’s"}`;
  return [
    `SPF ${spf.result}${of(spf.domain, spf.aligned)}`,
    ...dkim.map(({ result, domain, aligned }) => `DKIM ${result}${of(domain, aligned)}`),
    dmarc.policy === null ? "no DMARC record" : `DMARC ${dmarc.result}, policy ${dmarc.policy}`,
    ...(arc.result === "none" ? [] : [`ARC ${arc.result} by ${arc.sealers.join(", ")}`]),
    ...(source === "upstream" ? ["SPF was checked by a trusted server"] : []),
    clientAddress === null ? "the host that sent it is unknown" : `from ${clientAddress}${tls ? " over TLS" : ""}`,
  ].join(" · ");
}
