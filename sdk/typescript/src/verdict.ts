import type { Schemas } from "./types.ts";

/** What the verdict about a mail says of its sender, for people. The commands and the console show it. */
export function verdictText({
  verdict,
  domain,
  internal,
  source,
}: Pick<Schemas["Authentication"], "verdict" | "domain" | "internal" | "source">): string {
  if (internal) return "an inbox of this service sent it";
  if (domain === null) return "it names no single sender";
  const texts = {
    pass: source === "arc" ? `a trusted host vouches that ${domain} sent it` : `${domain} sent it`,
    fail: `${domain} does not vouch for it`,
    none: `nothing proves that ${domain} sent it`,
    temperror: `whether ${domain} sent it was not decided in time`,
  };
  return texts[verdict];
}
