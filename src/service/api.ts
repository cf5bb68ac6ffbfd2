import type { Fetch } from "../../sdk/typescript/src/options.ts";
import type { AccessTokens } from "../flows/account/access-tokens.ts";
import type { Authenticator } from "../flows/account/authenticate.ts";
import { operators } from "../flows/account/operators.ts";
import type { DomainDeps } from "../flows/domains/manage-domains.ts";
import type { StreamingDeps } from "../flows/events/event-stream.ts";
import type { OpenStreams } from "../flows/events/open-streams.ts";
import type { Listeners } from "../flows/listeners.ts";
import type { OpenCalls } from "../flows/open-calls.ts";
import type { AttachmentLinks } from "../flows/read/attachment-links.ts";
import { attachmentTexts } from "../flows/read/attachment-text.ts";
import { extractedOf } from "../flows/read/extracted.ts";
import { mailWaits } from "../flows/read/wait-for-mail.ts";
import { readiness } from "../flows/readiness.ts";
import type { ReleaseMail } from "../flows/receive/release-mail.ts";
import type { ApprovalLinks } from "../flows/send/approval-links.ts";
import { connect } from "../http/connect/connect.ts";
import { consolePages } from "../http/console/pages.ts";
import { sessionDoor } from "../http/console/session.ts";
import { consoleSession } from "../http/console/session-routes.ts";
import type { ThisServer } from "../http/docs/this-server.ts";
import { account } from "../http/routes/account/account.ts";
import { audit } from "../http/routes/account/audit.ts";
import { domains } from "../http/routes/account/domains.ts";
import { grants } from "../http/routes/account/grants.ts";
import { inboxKeys } from "../http/routes/account/inbox-keys.ts";
import { inboxes } from "../http/routes/account/inboxes.ts";
import { keys as accountKeys } from "../http/routes/account/keys.ts";
import { policies } from "../http/routes/account/policies.ts";
import { rules as accountRules } from "../http/routes/account/rules.ts";
import { stats } from "../http/routes/account/stats.ts";
import { tokens } from "../http/routes/account/tokens.ts";
import { usage } from "../http/routes/account/usage.ts";
import { adminAccountExport } from "../http/routes/admin/account-export.ts";
import { adminAccountKeys } from "../http/routes/admin/account-keys.ts";
import { adminAccounts } from "../http/routes/admin/accounts.ts";
import { adminDomains } from "../http/routes/admin/domains.ts";
import { adminService } from "../http/routes/admin/service.ts";
import { eventKinds } from "../http/routes/events/event-shapes.ts";
import { events } from "../http/routes/events/events.ts";
import { socketRoute, socketSession } from "../http/routes/events/socket.ts";
import { eventStream } from "../http/routes/events/stream.ts";
import { webhook } from "../http/routes/events/webhook.ts";
import { webhooks as webhookEndpoints } from "../http/routes/events/webhooks.ts";
import { guides } from "../http/routes/guides.ts";
import { attachmentText } from "../http/routes/mail/attachment-text.ts";
import { attachments } from "../http/routes/mail/attachments.ts";
import { inboxExport } from "../http/routes/mail/export.ts";
import { messagePage } from "../http/routes/mail/message-page.ts";
import { messages } from "../http/routes/mail/messages.ts";
import { quarantine } from "../http/routes/mail/quarantine.ts";
import { reports } from "../http/routes/mail/reports.ts";
import { threads } from "../http/routes/mail/threads.ts";
import { type WaitingDeps, waiting } from "../http/routes/mail/wait.ts";
import { mcp } from "../http/routes/mcp.ts";
import { type MetricsDeps, metrics, metricsPort } from "../http/routes/metrics.ts";
import { cancel, outbox, retry } from "../http/routes/outbox/outbox.ts";
import { type InboundDeps, inbound } from "../http/routes/receive/inbound.ts";
import { approvalLink } from "../http/routes/send/approval-link.ts";
import { approvePage } from "../http/routes/send/approve-page.ts";
import { drafts } from "../http/routes/send/drafts.ts";
import { markdown } from "../http/routes/send/markdown.ts";
import { type RelayNoticesDeps, relayNotices } from "../http/routes/send/relay-notices.ts";
import { send } from "../http/routes/send/send.ts";
import { suppressions } from "../http/routes/send/suppressions.ts";
import { unsubscribe } from "../http/routes/send/unsubscribe.ts";
import { uploads } from "../http/routes/send/uploads.ts";
import { httpApp } from "../http/shell/app.ts";
import { corsApp } from "../http/shell/cors.ts";
import { type HttpServer, serveHttp } from "../http/shell/server.ts";
import { socketDoor } from "../http/shell/sockets.ts";
import type { Routed } from "../http/shell/timed-app.ts";
import { documentReader } from "../mail/documents/document-reader.ts";
import { isSameSecret } from "../standards/signature.ts";
import { answerFiles } from "../store/mail/answer-files.ts";
import { version } from "../version.ts";
import { type WebhookClient, webhookClient } from "../webhook/client.ts";
import type { Workers } from "../workers/scheduler.ts";
import { cellsOfMoved } from "./cells.ts";
import { askOf, mcpDeps } from "./mcp.ts";
import type { Opening } from "./opening.ts";
import type { Receiving } from "./receiving.ts";
import { type SendEmail, uploadLimits } from "./sending.ts";

interface ApiParts {
  domains: DomainDeps;
  keys: Authenticator;
  tokens: AccessTokens;
  links: AttachmentLinks;
  approvalLinks: ApprovalLinks;
  notices: Omit<RelayNoticesDeps, "isDraining">;
  receiving: Pick<Receiving, "htmlOfMarkdown" | "unsubscribing" | "hosts">;
  sender: SendEmail;
  inbound: InboundDeps;
  streaming: StreamingDeps;
  calls: OpenCalls;
  streams: OpenStreams;
  webhooks: WebhookClient;
  workers: Pick<Workers, "settled">;
  releaseMail: ReleaseMail;
  listeners: Listeners;
  /** The dependencies of the metrics route; undefined if metrics are not served. */
  numbers: Omit<MetricsDeps, "token"> | undefined;
  serviceId: string;
  thisServer: () => ThisServer;
  /** The state of all listeners (API and SMTP): whether all of them are open, and whether they have begun to close. */
  doors: { areOpen: boolean; areClosing: boolean };
}

export interface OpenApi {
  url: URL;
  /** The address of the metrics, if they are served. */
  metricsUrl: URL | undefined;
  /** Sends a request to the app without a socket. */
  ask: Fetch;
  /** Answers waiting requests at once, ends streams, and gives other requests up to `graceMs` to end. */
  stop(graceMs: number): Promise<void>;
}

/** Opens the API and starts to listen. Until SMTP listens too, `/readyz` answers that the service is not ready. */
export async function openApi(opening: Opening, parts: ApiParts): Promise<OpenApi> {
  const { config, deps, watch, opened } = opening;
  const numbers = parts.numbers && { ...parts.numbers, token: config.metricsToken };
  const waits = mailWaits({
    ...deps,
    listeners: parts.listeners,
    calls: parts.calls,
    extract: (accountId, message) => extractedOf(deps, accountId, message),
  });
  const long: LongAnswers = {
    waitForMail: watch.wait(waits.wait, deps.now),
    mayTakeLong: (request) => http.mayTakeLong(request),
    endsSoon: (request) => http.endsSoon(request),
  };
  const door = doorOf(opening, parts);
  const app = await appOf(opening, parts, door, long, config.metricsPort === undefined ? numbers : undefined);
  const observed = watch.app(app);
  const shared = config.corsOrigins === undefined ? observed : corsApp(observed, config.corsOrigins);
  const sockets = socketDoor({
    ...door,
    newSession: (account, ip) =>
      socketSession({ ...deps, streaming: parts.streaming, open: parts.streams }, account, ip),
  });
  const at = (port: number) => ({ hostname: config.host, port, isShared: opening.sharesPorts });
  const http: HttpServer = serveHttp(shared, at(config.port), deps.log, sockets);
  const stop = async (graceMs: number) => {
    waits.stop();
    await Promise.all([parts.streams.endAll(), http.stop(graceMs)]);
  };
  opened.push(() => stop(0));
  if (http.url === undefined) throw new Error("Cannot start: the API has no address");
  if (numbers === undefined) return { url: http.url, metricsUrl: undefined, ask: askOf(app), stop };

  const ownPort =
    config.metricsPort === undefined ? undefined : serveHttp(metricsPort(numbers), at(config.metricsPort), deps.log);
  opened.push(() => ownPort?.stop(0));
  return { url: http.url, metricsUrl: new URL("/metrics", ownPort?.url ?? http.url), ask: askOf(app), stop };
}

/** The dependencies that HTTP requests and WebSockets share. */
function doorOf({ config, deps, closed, opened }: Opening, { keys, doors }: ApiParts) {
  const { ingestToken } = config;
  return {
    isIngestToken: ingestToken === undefined ? undefined : (given: string) => isSameSecret(given, ingestToken),
    authenticate: keys.authenticate,
    authenticateAddress: keys.authenticateAddress,
    isDraining: () => doors.areClosing,
    trustedProxies: config.trustedProxies,
    closureOf: closed.closureOf,
    cellOfMoved: cellsOfMoved({ config, closed, opened }),
    ...operators(deps),
    newRequestId: () => deps.randomBytes(12).toHex(),
    log: deps.log,
  };
}

/** The functions for requests that may stay open for long, because they wait for mail or events. */
type LongAnswers = Pick<HttpServer, "mayTakeLong" | "endsSoon"> & Pick<WaitingDeps, "waitForMail">;

/** Makes the HTTP app. `numbers`: the metrics that it serves; undefined if they have a port of their own or are off. */
async function appOf(
  { config, deps, watch, rules, opened }: Opening,
  {
    keys,
    tokens: accessTokens,
    links,
    approvalLinks,
    notices,
    receiving: { htmlOfMarkdown, unsubscribing, hosts },
    sender,
    inbound: receivesMail,
    streaming,
    streams,
    webhooks,
    workers,
    releaseMail,
    serviceId,
    thisServer,
    doors,
    domains: ownDomains,
  }: ApiParts,
  door: ReturnType<typeof doorOf>,
  long: LongAnswers,
  numbers: MetricsDeps | undefined,
) {
  const baseUrl = () => thisServer().baseUrl;
  const files = await answerFiles({ directory: config.dataDir, randomBytes: deps.randomBytes });
  opened.push(files.close);
  const reading = { ...deps, links, answerFiles: files };
  const documents = documentReader({ onFault: (fault) => deps.log.warn({ fault }, "reader of documents failed") });
  opened.push(documents.close);
  const receivers = { ...deps, webhooks, allowPrivateWebhooks: config.allowPrivateWebhooks };
  const filing = { ...deps, uploads: { ...uploadLimits(config), ...watch.files } };
  const sending = {
    ...filing,
    sendEmail: watch.send(sender),
    settled: workers.settled,
    sendWaitMs: config.sendWaitMs,
  };
  const isReady = readiness(deps.db);
  const session = config.console ? sessionDoor({ ...keys, baseUrl }) : undefined;
  const connects = config.mcp && config.mcpConnect && session !== undefined;
  const connecting = {
    ...door,
    ...deps,
    tokens: accessTokens,
    baseUrl,
    documents: webhookClient({ allowPrivate: config.allowPrivateWebhooks, version, timeoutMs: 3_000 }),
    allowHttp: config.allowPrivateWebhooks,
  };
  const app: Routed = httpApp(
    {
      ...door,
      authenticateSession: session?.authenticateSession,
      health: async () => (doors.areOpen ? await isReady() : { ready: false, reason: "the listeners are not up yet" }),
      serviceId,
      cell: config.cell,
      version,
      events: eventKinds,
      thisServer,
    },
    {
      guarded: [
        inboxes({ ...deps, hosts }),
        send(sending),
        drafts({ ...sending, links, decided: watch.decided }),
        approvalLink({ ...deps, approvalLinks }),
        markdown({ htmlOfMarkdown }),
        uploads(filing),
        inbound(receivesMail),
        messages({ ...reading, removed: watch.workers.removed }),
        messagePage(reading),
        attachmentText({ ...deps, texts: attachmentTexts({ ...deps, documents: watch.documents(documents) }) }),
        inboxExport({ ...deps, mayTakeLong: long.mayTakeLong }),
        cancel(reading),
        retry({ ...deps, rules }),
        outbox(deps),
        reports(reading),
        quarantine({ ...reading, releaseMail }),
        waiting({ ...reading, ...long }),
        threads({ ...reading, removed: watch.workers.removed }),
        events({ ...deps, links }),
        eventStream({ ...deps, streaming, open: streams, ...long }),
        socketRoute(),
        accountKeys(deps),
        inboxKeys(deps),
        grants(deps),
        account({ ...deps, outbound: config.outbound.kind, sendMaxBytes: config.sendMaxBytes }),
        domains(ownDomains),
        stats(deps),
        audit(deps),
        adminAccounts(deps),
        adminAccountKeys(deps),
        adminAccountExport({ ...deps, version, spoolDirectory: config.dataDir, mayTakeLong: long.mayTakeLong }),
        adminDomains(ownDomains),
        adminService({ ...deps, version }),
        usage(deps),
        ...suppressions({ ...deps, bounceSuppressionDays: config.bounceSuppressionDays }),
        accountRules({ ...deps, rules }),
        ...policies({ ...deps, rules }),
        tokens({ ...deps, tokens: accessTokens }),
        webhook(receivers),
        ...webhookEndpoints({
          ...receivers,
          webhooksPerAccount: config.webhooksPerAccount,
          disabled: watch.workers.disabled,
        }),
      ],
      open: [
        guides(thisServer),
        ...(config.mcp
          ? [
              mcp(
                mcpDeps(
                  { config, deps, watch },
                  { door, keys, tokens: accessTokens, connects, baseUrl, app: () => app },
                ),
              ),
            ]
          : []),
        ...(connects ? [connect({ ...connecting, session })] : []),
        attachments({
          ...reading,
          closureOf: door.closureOf,
          cellOfMoved: door.cellOfMoved,
          authenticateOperator: door.authenticateOperator,
          asAccount: door.asAccount,
          authenticate: keys.authenticate,
          authenticateSession: session?.authenticateSession,
          trustedProxies: config.trustedProxies,
        }),
        ...(session === undefined
          ? []
          : [consoleSession({ ...door, ...deps, session, keys, tokens: accessTokens }), consolePages()]),
        relayNotices({ ...notices, isDraining: door.isDraining }),
        unsubscribe({ ...door, ...deps, unsubscribing }),
        approvePage({
          ...door,
          ...deps,
          links,
          approvalLinks,
          hosts,
          approvers: config.approvers,
          decided: watch.decided,
        }),
        ...(numbers === undefined ? [] : [metrics(numbers)]),
      ],
    },
  );
  return app;
}
