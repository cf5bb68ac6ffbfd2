import type { AnyElysia } from "elysia";
import pino from "pino";
import { parseNoticeSource } from "../../../src/domain/reports/notice-source.ts";
import { returnPaths } from "../../../src/domain/reports/return-path.ts";
import { reportApplier } from "../../../src/flows/receive/apply-reports.ts";
import { noticeProof } from "../../../src/flows/receive/prove-notices.ts";
import { noticeTaker } from "../../../src/flows/receive/take-notices.ts";
import { relayNotices } from "../../../src/http/routes/send/relay-notices.ts";
import { httpApp } from "../../../src/http/shell/app.ts";
import { returnPathKey } from "../../../src/standards/signature.ts";
import { localServer } from "../local-server.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../scripted-smtp.ts";
import { send } from "../sends.ts";
import { startWorld, type World, type WorldInbox } from "../world.ts";
import type { Named } from "./examples.ts";
import { certificatePem, type Provider, type Signed, settings } from "./signing.ts";

const signingKey = "signing-key-of-the-tests-32-letters";
const mailDomain = "mail.example";

/** A relay that answers with its own id for each mail. */
export function namingRelay(): Promise<ScriptedSmtp> {
  let mailsTaken = 0;
  return scriptedSmtp({
    answer(command) {
      if (command !== ".") return undefined;
      mailsTaken += 1;
      return `250 2.0.0 Ok: queued as id${mailsTaken}-0100018b7c`;
    },
  });
}

/** A service that sends by this relay and gets notices from it, or from none. */
export function noticedWorld(
  relay: ScriptedSmtp,
  provider: Provider | undefined,
  more: Record<string, string> = {},
): Promise<World> {
  return startWorld({
    env: {
      SIGNING_KEY: signingKey,
      MAIL_DOMAIN: mailDomain,
      METRICS_TOKEN: "token-of-metrics-in-tests",
      OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`,
      SEND_WAIT_MS: "30000",
      ...(provider !== undefined && { RELAY_NOTICES: settings[provider] }),
      ...more,
    },
  });
}

/** A mail that the relay accepted, with all its names. */
export async function sentBy(
  relay: ScriptedSmtp,
  world: World,
  inbox: WorldInbox,
  more: object = { to: "jane@example.com" },
): Promise<Named> {
  const { body: result } = await send(world, inbox.id, more, { waits: true });
  if (result.status !== "sent") throw new Error(`Cannot send: ${JSON.stringify(result)}`);
  const messageId: string = result.messageId;
  const mail = relay.mails.find(({ raw }) => raw.includes(messageId));
  return {
    messageId,
    rfcMessageId: `${messageId}@${mailDomain}`,
    returnPath: mail?.from ?? "",
    providerMessageId: result.providerMessageId,
    recipient: "jane@example.com",
    at: world.clock.now(),
  };
}

export type Post = (signed: Signed) => Promise<{ status: number; headers: Headers; body: Record<string, unknown> }>;

/** Posts notices to the service; for SES with a local certificate. */
export async function noticeDoor(world: World, provider: Provider): Promise<Post> {
  const app = provider === "ses" ? await sesApp(world) : undefined;
  return async ({ headers, body }) => {
    const request = new Request(new URL("/v1/relay-notices", world.service.apiUrl), { method: "POST", headers, body });
    const response = await (app === undefined ? fetch(request) : app.handle(request));
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  };
}

async function sesApp(world: World): Promise<AnyElysia> {
  const { deps } = world.service;
  const source = parseNoticeSource(settings.ses);
  if (typeof source === "string") throw new Error(source);
  const reportPolicy = { mailDomain, bounceSuppressionDays: 90, messageIdSuppresses: false };
  const route = relayNotices({
    isDraining: () => false,
    relay: { provider: "ses", prove: noticeProof(source, { ...deps, fetchFromSns: async () => certificatePem }) },
    takeNotices: noticeTaker({
      ...deps,
      returnPaths: returnPaths(await returnPathKey(signingKey), mailDomain),
      observe: () => undefined,
      applyReports: reportApplier({ ...deps, reportPolicy }),
    }),
    observe: () => undefined,
  });
  return httpApp(
    {
      authenticate: () => undefined,
      health: async () => ({ ready: true }),
      serviceId: "1",
      cell: "00",
      isDraining: () => false,
      newRequestId: () => "1",
      log: pino({ level: "silent" }),
      version: "1",
      thisServer: localServer,
    },
    { guarded: [], open: [route] },
  );
}
