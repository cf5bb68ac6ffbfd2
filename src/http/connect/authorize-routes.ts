import { Elysia } from "elysia";
import { isWholeAccount } from "../../domain/access/access.ts";
import { type Closure, refuseSuspended } from "../../domain/access/suspension.ts";
import {
  type AuthorizationParameters,
  authorizationParameters,
  judgeAuthorization,
  type OAuthFault,
} from "../../domain/connect/authorization.ts";
import { isNamedRedirectUri, withParameters } from "../../domain/connect/redirect-uri.ts";
import { Refusal } from "../../domain/errors.ts";
import {
  type Asking,
  type ConsentDeps,
  consentToken,
  type Granted,
  grantAccess,
  grantable,
  isConsentToken,
} from "../../flows/connect/consent.ts";
import { type FindingDeps, findClient } from "../../flows/connect/find-client.ts";
import { inboxAddress, usernameAt } from "../../standards/address.ts";
import { sha256Hex } from "../../standards/digest.ts";
import { findAccountById } from "../../store/account/accounts.ts";
import { findInbox, listExternalIds, listInboxes } from "../../store/account/inboxes.ts";
import type { SessionDoor } from "../console/session.ts";
import { actorOf } from "../shell/actor.ts";
import { type Account, isFromAllowedAddress } from "../shell/auth.ts";
import { issuerOf, resourceOf } from "./addresses.ts";
import { type Answering, readFields } from "./open-door.ts";
import { againPage, consentPage, faultPage, signInPage } from "./pages.ts";

export interface AuthorizeDeps extends ConsentDeps, FindingDeps {
  session: SessionDoor;
  baseUrl(): string;
  trustedProxies?: readonly string[] | undefined;
  closureOf?: ((accountId: string) => Closure | undefined) | undefined;
}

const hidden = { parse: "none" as const, detail: { hide: true } };

/** The most inboxes and tenants that the page offers to choose from. Others can be typed. */
const mostOffered = 100;

/** The page on which a person decides whether a program gets access. It changes nothing until its form is sent. */
export function authorizeRoutes(deps: AuthorizeDeps) {
  return new Elysia({ prefix: "/oauth" })
    .get(
      "/authorize",
      async ({ request, set }) => {
        const { search, searchParams } = new URL(request.url);
        const question = `authorize${search}`;
        if (isFromElsewhere(request)) return againPage(set, question);
        const caller = await callerOf(deps, request);
        if (caller === undefined) return signInPage(set, question);
        const asked = await askedOf(deps, searchParams);
        if (typeof asked === "string") return faultPage(set, asked);
        if ("error" in asked.judged) return sendBack(deps, set, asked, asked.judged);
        return ask(deps, set, caller, { ...asked, authorization: asked.judged }, undefined);
      },
      hidden,
    )
    .post(
      "/authorize",
      async ({ request, set }) => {
        deps.session.refuseForeign(request);
        const fields = await readFields(request);
        if (typeof fields === "string") return faultPage(set, fields);
        const caller = await callerOf(deps, request);
        const asked = await askedOf(deps, fields);
        if (typeof asked === "string") return faultPage(set, asked);
        const { parameters, judged } = asked;
        if (caller === undefined) return signInPage(set, withParameters("authorize", parameters));
        if ("error" in judged) return sendBack(deps, set, asked, judged);
        const asking = { ...asked, authorization: judged };
        const again = (fault: string) => ask(deps, set, caller, asking, { fields, fault });
        const answer = { token: fields.get("consent") ?? "", question: digestOf(parameters) };
        if (!(await isConsentToken(deps, caller, answer)))
          return again("The question was open for too long, or for another account. Decide once more.");
        if (fields.get("decision") !== "allow")
          return sendBack(deps, set, asked, {
            error: "access_denied",
            description: "The person has denied the access",
          });
        const granted = await grantedOf(deps, caller, asking, fields);
        if (typeof granted === "string") return again(granted);
        const actor = actorOf(caller, { request, set }, deps.trustedProxies);
        const code = await grantAccess(deps, caller, actor, asking, granted).catch(refusalOf);
        if (typeof code !== "string") return again(code.message);
        return sendTo(deps, set, asked, { code });
      },
      hidden,
    );
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  throw error;
}

/** Whether a link of another site has led here. Its request has no cookie, whether or not there is a session. */
function isFromElsewhere(request: Request): boolean {
  return /^(?:cross-site|same-site)$/.test(request.headers.get("sec-fetch-site") ?? "");
}

async function callerOf(deps: AuthorizeDeps, request: Request): Promise<Account | undefined> {
  const caller = await deps.session.authenticateSession(request);
  if (caller === undefined || !isFromAllowedAddress(caller, request, deps)) return undefined;
  refuseSuspended(deps.closureOf?.(caller.id), { sends: false, showsAccount: false }, "connect program");
  return caller;
}

interface Asked extends Omit<Asking, "authorization"> {
  parameters: AuthorizationParameters;
  judged: Asking["authorization"] | OAuthFault;
}

/** The request of a client. A text is a fault that only the person can be told. */
async function askedOf(deps: AuthorizeDeps, all: URLSearchParams): Promise<Asked | string> {
  const parameters = authorizationParameters(all);
  if (typeof parameters === "string") return `The parameter ${parameters} comes twice`;
  const { client_id: clientId, redirect_uri: redirectUri } = parameters;
  if (clientId === undefined) return "The parameter client_id is missing";
  if (redirectUri === undefined) return "The parameter redirect_uri is missing";
  const client = await findClient(deps, clientId);
  if (typeof client === "string") return `${client.charAt(0).toUpperCase()}${client.slice(1)}`;
  if (!isNamedRedirectUri(client.redirectUris, redirectUri))
    return "The redirect_uri is not one of the program's own addresses";
  return { client, redirectUri, parameters, judged: judgeAuthorization(parameters, resourceOf(deps.baseUrl())) };
}

async function ask(
  deps: AuthorizeDeps,
  set: Answering,
  caller: Account,
  { client, redirectUri, parameters, authorization }: Asking & { parameters: AuthorizationParameters },
  last: { fields: URLSearchParams; fault: string } | undefined,
): Promise<string> {
  const accesses = grantable(caller, authorization);
  if (accesses.length === 0)
    return faultPage(set, `The key of this session has the access "${caller.access}", which it cannot pass on`);
  const { reach } = caller;
  const every = { reach, externalId: undefined, username: undefined, host: undefined, limit: mostOffered, offset: 0 };
  const [account, inboxes, externalIds, token] = await Promise.all([
    findAccountById(deps.db.api, caller.id),
    isWholeAccount(reach) ? listInboxes(deps.db.api, every) : [],
    isWholeAccount(reach) ? listExternalIds(deps.db.api, reach, mostOffered) : [],
    consentToken(deps, caller, digestOf(parameters)),
  ]);
  return consentPage(set, {
    clientName: client.name,
    redirectUri,
    accountName: account?.name ?? "",
    parameters,
    token,
    accesses,
    boundTo: await boundTo(deps, caller),
    addresses: inboxes.map(({ username }) => inboxAddress(username, deps.mailDomain)),
    externalIds,
    chosen: Object.fromEntries(last?.fields ?? []),
    fault: last?.fault,
  });
}

/** The reach of a session that reaches a part of its account, in words. */
async function boundTo({ db, mailDomain }: AuthorizeDeps, { reach }: Account): Promise<string | undefined> {
  if (reach.externalId !== undefined) return `the inboxes with the externalId "${reach.externalId}"`;
  const inbox = reach.inboxId === undefined ? undefined : await findInbox(db.api, reach, reach.inboxId);
  return inbox && `the inbox ${inboxAddress(inbox.username, mailDomain)}`;
}

/** The choice of the person. A text is a fault of the choice. */
async function grantedOf(
  { db, mailDomain }: AuthorizeDeps,
  caller: Account,
  { authorization }: Asking,
  fields: URLSearchParams,
): Promise<Granted | string> {
  const access = grantable(caller, authorization).find((each) => each === fields.get("access"));
  if (access === undefined) return "Choose what the program may do.";
  const { inboxId, externalId } = caller.reach;
  if (!isWholeAccount(caller.reach)) return { access, inboxId, externalId };
  const chosen = fields.get("reach");
  if (chosen === "account") return { access, inboxId, externalId };
  const text = (fields.get(chosen === "inbox" ? "inbox" : "externalId") ?? "").trim();
  if (chosen === "tenant") return text === "" ? "Enter the externalId." : { access, inboxId, externalId: text };
  const username = usernameAt(text, mailDomain);
  const page = { reach: caller.reach, externalId: undefined, username, host: undefined, limit: 1, offset: 0 };
  const [inbox] = username === undefined ? [] : await listInboxes(db.api, page);
  return inbox === undefined
    ? `There is no inbox with the address "${text}".`
    : { access, inboxId: inbox.id, externalId };
}

/** The digest of a question, to which the token in its form belongs. */
function digestOf(parameters: AuthorizationParameters): string {
  return sha256Hex(JSON.stringify(parameters));
}

function sendBack(deps: AuthorizeDeps, set: Answering, asked: Asked, { error, description }: OAuthFault): string {
  return sendTo(deps, set, asked, { error, error_description: description });
}

/** Leads the browser to the client, with the name of this server, so that a client with several of them cannot mix them up (RFC 9207). */
function sendTo(
  { baseUrl }: AuthorizeDeps,
  set: Answering,
  { redirectUri, parameters }: Asked,
  answer: Record<string, string>,
): string {
  set.status = 303;
  set.headers.location = withParameters(redirectUri, { ...answer, state: parameters.state, iss: issuerOf(baseUrl()) });
  set.headers["cache-control"] = "no-store";
  set.headers["referrer-policy"] = "no-referrer";
  return "";
}
