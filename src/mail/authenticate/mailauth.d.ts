declare module "mailauth/lib/tools" {
  /** The first of the domains with the same registered domain by the Public Suffix List, or false. */
  export function getAlignment(
    fromDomain: string,
    domains: readonly { domain: string }[],
    strict: boolean,
  ): { domain: string } | false;
}

declare module "mailauth/lib/parse-dkim-headers" {
  /** Reads an Authentication-Results field by its grammar (RFC 8601 §2.2). */
  export default function parseField(line: string): { parsed: Record<string, unknown> };
}
