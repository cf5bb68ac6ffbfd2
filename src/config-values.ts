import { readFileSync } from "node:fs";
import { domainToASCII } from "node:url";
import type { BlobPlace } from "./blobs/blob-store.ts";
import type { CellPeer } from "./domain/cell-peer.ts";
import { readEndpointHeaders } from "./domain/events/endpoint-headers.ts";
import { checkWebhookUrl } from "./domain/events/webhook-url.ts";
import { type Outbound, parseOutbound } from "./domain/outbound.ts";
import { type NoticeSource, parseNoticeSource } from "./domain/reports/notice-source.ts";
import { approverAddresses, faultsOfApprovers, mostApprovers } from "./domain/send/approvers.ts";
import type { NamingSetting } from "./domain/send/wire-name.ts";
import { isHostName } from "./standards/host-name.ts";
import { isAddressBlock, isIpAddress } from "./standards/ip.ts";
import { type NameServer, parseNameServer } from "./standards/name-server.ts";
import { isP256PublicKey } from "./standards/notice-signature.ts";
import type { JudgeAddress } from "./webhook/judge.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A parsed value, or an error text that continues "NAME: ". */
type Parsed<Value> = { value: Value } | string;

/** Functions that read a variable by its name and add an error text to `faults` if its value is wrong. */
export function readers(env: Environment, faults: string[]) {
  /** An empty variable counts as not set, as in compose files and unit files. */
  const text = (name: string): string | undefined => env[name]?.trim() || undefined;

  /** A secret may also be in a file, which keeps it out of process lists and dumps of the environment. */
  const secret = (name: string): string | undefined => {
    const path = text(`${name}_FILE`);
    if (path === undefined) return text(name);
    if (text(name) !== undefined) {
      faults.push(`${name}: set either ${name} or ${name}_FILE, not both`);
      return undefined;
    }
    try {
      return readFileSync(path, "utf8").trim() || undefined;
    } catch (error) {
      faults.push(`${name}_FILE: cannot read ${path} (${(error as NodeJS.ErrnoException).code ?? "unreadable"})`);
      return undefined;
    }
  };

  function checked<Value>(name: string, value: string | undefined, parse: (value: string) => Parsed<Value>) {
    if (value === undefined) return undefined;
    const parsed = parse(value);
    if (typeof parsed !== "string") return parsed.value;
    faults.push(`${name}: ${parsed}`);
    return undefined;
  }

  const integer = (name: string, fallback: number, least: number, most: number): number => {
    const value = text(name);
    if (value === undefined) return fallback;
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= least && number <= most) return number;
    faults.push(`${name}: must be a whole number from ${least} to ${most}`);
    return fallback;
  };

  const choice = <const Choice extends string>(name: string, choices: readonly Choice[], fallback: Choice): Choice => {
    const value = text(name);
    if (value === undefined) return fallback;
    const chosen = choices.find((choice) => choice === value.toLowerCase());
    if (chosen === undefined) faults.push(`${name}: must be one of ${choices.join(", ")}`);
    return chosen ?? fallback;
  };

  return { text, secret, integer, choice, checked };
}

export function parsedOutbound(text: string): Parsed<Outbound> {
  const outbound = parseOutbound(text);
  return typeof outbound === "string" ? outbound : { value: outbound };
}

export function parsedNoticeSource(text: string): Parsed<NoticeSource> {
  const source = parseNoticeSource(text);
  if (typeof source === "string") return source;
  if (source.provider === "sendgrid" && !isP256PublicKey(source.publicKey)) {
    return "must have a public key on P-256 behind sendgrid:, in base64 as SendGrid shows it";
  }
  return { value: source };
}

/** The facts on which the number of processes depends. */
export interface ProcessFacts {
  platform: NodeJS.Platform;
  cores: number;
  /** Whether the database is the embedded one. */
  isEmbedded: boolean;
}

/** Parses PROCESSES. `auto` is one for each core, where there can be several. */
export function parseProcesses(text: string, { platform, cores, isEmbedded }: ProcessFacts): Parsed<number> {
  // Other systems also let several sockets listen at a port, but give all connections to one of them.
  const isAlone = isEmbedded || platform !== "linux";
  if (text.toLowerCase() === "auto") return { value: isAlone ? 1 : Math.min(cores, mostProcesses) };
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > mostProcesses) return `must be auto or a whole number from 1 to ${mostProcesses}`;
  if (count > 1 && isEmbedded) {
    return "the embedded database belongs to one process; set DATABASE_URL to a Postgres, or PROCESSES to 1 or auto";
  }
  if (count > 1 && isAlone) return "only Linux distributes connections among processes; set PROCESSES to 1 or auto";
  return { value: count };
}

const mostProcesses = 128;

/** Parses JUDGE_URL: the address of a program with our own protocol, or `rspamd+` and that of an rspamd. It may be private. */
export function parseJudge(text: string): Parsed<JudgeAddress> {
  const isRspamd = text.startsWith("rspamd+");
  const url = checkWebhookUrl(isRspamd ? text.slice("rspamd+".length) : text, { allowPrivate: true });
  if (typeof url === "string") return url;
  if (!isRspamd) return { value: { kind: "own", url: text } };
  if (url.pathname !== "/" || url.search !== "") return "must have no path behind the host of rspamd";
  return { value: { kind: "rspamd", url: `${url.origin}/checkv2` } };
}

/** Parses OTEL_EXPORTER_OTLP_ENDPOINT. It may be private, because the operator has chosen it. */
export function parseOtlpEndpoint(text: string): Parsed<string> {
  const url = checkWebhookUrl(text, { allowPrivate: true });
  if (typeof url === "string") return url;
  return url.search === "" ? { value: text.replace(/\/$/, "") } : "must have no query";
}

/** Parses OTEL_EXPORTER_OTLP_HEADERS: `name=value,name=value`, each value in percent-encoding (OpenTelemetry §Environment Variables). */
export function parseOtlpHeaders(text: string): Parsed<Record<string, string>> {
  const pairs = text.split(",").map((pair) => /^\s*([^\s=]+)\s*=\s*((?:[^\s%]|%[0-7][\da-f])+)\s*$/i.exec(pair));
  const headers = Object.fromEntries(pairs.map((found) => [found?.[1] ?? "", decodeURIComponent(found?.[2] ?? "")]));
  const isRead = readEndpointHeaders(headers).faults.length === 0;
  return isRead ? { value: headers } : "must be header fields name=value with commas, the values in percent-encoding";
}

/** A domain in ASCII and lower case, like the domains that are compared with it. */
export function parseDomain(text: string): Parsed<string> {
  const domain = domainToASCII(text).toLowerCase();
  return isHostName(domain) && domain.length <= 223
    ? { value: domain }
    : "must be a domain name such as mail.example.com";
}

export function parseDomains(text: string): Parsed<string[]> {
  const domains = text.split(",").flatMap((part) => {
    const domain = parseDomain(part.trim());
    return typeof domain === "string" ? [] : [domain.value];
  });
  return domains.length === text.split(",").length
    ? { value: domains }
    : "must be domain names with commas between them";
}

/** Words in lower case, such as the names of mail servers in `Authentication-Results` (RFC 8601 §2.5). */
export function parseWords(text: string): Parsed<string[]> {
  const words = text.split(",").map((part) => part.trim().toLowerCase());
  return words.every((word) => /^[!-~]{1,255}$/.test(word))
    ? { value: words }
    : "must be words with commas between them";
}

/** Parses RELAY_MESSAGE_ID: `auto`, `kept`, or `@` and the domain of the Message-IDs that the relay makes from its own ids. */
export function parseNaming(text: string): Parsed<NamingSetting> {
  const word = text.toLowerCase();
  if (word === "auto" || word === "kept") return { value: word };
  const domain = word.startsWith("@") ? parseDomain(word.slice(1)) : "";
  return typeof domain === "string" ? "must be auto, kept, or @ and a domain" : { value: { domain: domain.value } };
}

/** The host of a listener. Unlike names on the internet, names of containers may have an underscore. */
export function parseListenHost(text: string): Parsed<string> {
  const [address = ""] = text.split("%", 1);
  const isName = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/i.test(text) && !/(?:^|\.)\d+$/.test(text);
  return isIpAddress(address) || isName
    ? { value: text }
    : "must be an IP address of this machine, 0.0.0.0 for all of them, or its name";
}

export function parseAddresses(text: string): Parsed<string[]> {
  const addresses = text.split(",").map((part) => part.trim().toLowerCase());
  return addresses.every(isIpAddress) ? { value: addresses } : "must be IP addresses with commas between them";
}

/** The people who approve mail. An address at MAIL_DOMAIN is none, because keys of accounts could read its mail. */
export function parseApprovers(text: string, mailDomain: string): Parsed<string[]> {
  const approvers = text.split(",").map((part) => part.trim());
  return approvers.length <= mostApprovers && faultsOfApprovers(approvers, mailDomain).length === 0
    ? { value: approverAddresses(approvers, mailDomain) }
    : `must be at most ${mostApprovers} email addresses with commas between them, none of them at MAIL_DOMAIN`;
}

export function parseBlocks(text: string): Parsed<string[]> {
  const blocks = text.split(",").map((part) => part.trim().toLowerCase());
  return blocks.every(isAddressBlock)
    ? { value: blocks }
    : "must be IP addresses or blocks such as 192.0.2.0/24, with commas between them";
}

export function parseNameServers(text: string): Parsed<NameServer[]> {
  const servers = text.split(",").map((part) => parseNameServer(part.trim()));
  return servers.every((server) => server !== undefined)
    ? { value: servers }
    : "must be IP addresses with commas between them, each with its port if that is not 53";
}

/** A list of origins, or all origins. */
export type CorsOrigins = readonly string[] | "*";

/** Origins exactly as browsers write them in `Origin`. */
export function parseOrigins(text: string): Parsed<CorsOrigins> {
  if (text === "*") return { value: "*" };
  const origins = text.split(",").map((part) => part.trim().replace(/\/$/, ""));
  const areOrigins = origins.every(
    (origin) => /^https?:$/.test(URL.parse(origin)?.protocol ?? "") && URL.parse(origin)?.origin === origin,
  );
  return areOrigins
    ? { value: origins }
    : "must be * or origins such as https://app.example.com, with commas between them";
}

/** A list of origins, without `*`. */
export function parseNamedOrigins(text: string): Parsed<readonly string[]> {
  const parsed = parseOrigins(text);
  if (typeof parsed !== "string" && parsed.value !== "*") return { value: parsed.value };
  return "must be origins such as https://app.example.com, with commas between them";
}

export function parseSelector(text: string): Parsed<string> {
  return /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/i.test(text)
    ? { value: text }
    : "must be a DNS label such as inboxd1";
}

export function parseCell(text: string): Parsed<string> {
  return /^[0-9A-Za-z]{2}$/.test(text) ? { value: text } : "must be 2 letters or digits";
}

/** Parses CELL_PEERS: hosts, each with the address of its API behind `=` unless that is `https://` and the host. */
export function parsePeers(text: string): Parsed<CellPeer[]> {
  const peers = text.split(",").flatMap((part) => {
    const [name = "", address] = part.trim().split("=", 2);
    const host = parseDomain(name);
    const url = URL.parse(address ?? `https://${name}`);
    return typeof host === "string" || url === null || !isOrigin(url) ? [] : [{ host: host.value, url: url.origin }];
  });
  return peers.length === text.split(",").length
    ? { value: peers }
    : "must be hosts such as c1.example.com with commas between them, each with = and an origin such as http://10.0.0.2:3000 if its API answers there";
}

function isOrigin(url: URL): boolean {
  const isPlain = url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  return /^https?:$/.test(url.protocol) && isPlain;
}

export function parseToken(text: string): Parsed<string> {
  return /^[\x21-\x7e]{20,512}$/.test(text) ? { value: text } : "must be 20 to 512 visible ASCII characters";
}

/** Parses BLOBS: `s3://bucket/prefix`, with `endpoint` and `region` as parameters. */
export function parseBlobs(text: string): Parsed<BlobPlace> {
  const url = URL.parse(text);
  const isPlace = url?.protocol === "s3:" && /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname);
  if (!isPlace || url.username !== "" || url.port !== "" || url.hash !== "") {
    return "must be s3:// and a bucket, such as s3://mail/inboxd?endpoint=https://s3.example.com&region=eu-central-1";
  }
  const { endpoint, region = "us-east-1", ...others } = Object.fromEntries(url.searchParams);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `has the parameter ${unknown}, and only endpoint and region are known`;
  const address = endpoint === undefined ? undefined : URL.parse(endpoint);
  if (address === null || (address !== undefined && !/^https?:$/.test(address.protocol))) {
    return "must have an endpoint that begins with https:// or http://";
  }
  if (!/^[a-z0-9-]{1,64}$/i.test(region)) return "must have a region such as eu-central-1";
  const prefix = url.pathname.replace(/^\/|\/$/g, "");
  if (!/^[\w./-]{0,200}$/.test(prefix)) return "must have a prefix of letters, digits and . _ - /";
  return {
    value: { bucket: url.hostname, prefix: prefix === "" ? "" : `${prefix}/`, endpoint: address?.href, region },
  };
}

export function parseDatabaseUrl(text: string): Parsed<string> {
  const url = URL.parse(text);
  const isPostgres = url?.protocol === "postgres:" || url?.protocol === "postgresql:";
  return isPostgres ? { value: text } : "must be a URL that begins with postgres://";
}

export function parseBaseUrl(text: string): Parsed<string> {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return "must be a URL that begins with https:// or http://";
  if (url.search !== "" || url.hash !== "" || url.username !== "") return "must have no user name, query or fragment";
  return { value: url.href.replace(/(?<!\/)\/+$/, "") };
}

export function parseSchedule(text: string): Parsed<number[]> {
  const seconds = text.split(",").map((part) => part.trim());
  const isRight = seconds.length <= 20 && seconds.every((part) => /^\d{1,7}$/.test(part) && Number(part) >= 1);
  return isRight ? { value: seconds.map(Number) } : "must be whole seconds with commas between them";
}

/** A private key: as text, which may have `\n` instead of line breaks, or the path of a file. */
export function pemOf(value: string): Parsed<string> {
  if (value.includes("-----BEGIN")) return { value: value.replaceAll("\\n", "\n") };
  try {
    const pem = readFileSync(value, "utf8");
    return pem.includes("-----BEGIN") ? { value: pem } : "must be a private key in PEM, or the path of one";
  } catch {
    return "must be a private key in PEM, or the path of one";
  }
}

/** Joins two settings that must be set together. Adds a fault if only one of them is set. */
export function together<Left, Right, Both>(
  faults: string[],
  leftName: string,
  left: Left | undefined,
  rightName: string,
  right: Right | undefined,
  join: (left: Left, right: Right) => Both,
): Both | undefined {
  if (left !== undefined && right !== undefined) return join(left, right);
  if (left !== undefined) faults.push(`${rightName}: must be set when ${leftName} is`);
  if (right !== undefined) faults.push(`${leftName}: must be set when ${rightName} is`);
  return undefined;
}
