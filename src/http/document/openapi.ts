import { Type } from "@sinclair/typebox";
import { type AnyElysia, Elysia } from "elysia";
import { operationObject } from "./operation-object.ts";
import type { AnyOperation } from "./refusals.ts";
import { type SchemaWriter, schemaWriter } from "./schema.ts";
import { securitySchemes } from "./security.ts";
import { type EventKind, webhooksSection } from "./webhooks.ts";

export interface Description {
  version: string;
  baseUrl: string;
  /** The events that webhooks get. */
  events?: readonly EventKind[];
}

/** Makes the OpenAPI document of these plugins from the schemas that validate their requests (contract §13). */
export async function describe(plugins: readonly AnyElysia[], { version, baseUrl, events = [] }: Description) {
  const writer = schemaWriter();
  const paths = pathsOf(await describedRoutes(plugins), writer);
  const webhooks = webhooksSection(events, writer);
  return {
    openapi: "3.1.0",
    info: {
      title: "inboxd",
      version,
      summary: "Real email addresses for users, workspaces and software agents",
      description: about,
      contact: { name: "The operator of this service", url: baseUrl },
      license: { name: "All rights reserved", identifier: "LicenseRef-all-rights-reserved" },
    },
    servers: [{ url: baseUrl, description: "This service" }],
    security: [{ apiKey: [] }],
    tags,
    paths,
    ...(events.length > 0 && { webhooks }),
    components: {
      schemas: writer.definitions(),
      securitySchemes,
    },
  };
}

const about = `Inboxes that send and receive real email over JSON.

- Failures are problem details (RFC 9457), with the type \`application/json\` if \`Accept\` has only that. Branch on \`code\`.
- A path with \`GET\` also has \`HEAD\`, with the same status and headers. \`OPTIONS\` gets 204, and a method that the path does not have gets 405 \`method_not_allowed\`, both with \`Allow\`.
- \`GET /v1/ws\` is a WebSocket that sends events. Its client can change the subscription at any time: /docs/streams.md has the messages.
- A token (\`POST /v1/tokens\`) can be used in place of a key. A resource outside its reach gets 404; a request that it may not make gets 403 \`forbidden\`.
- Instants are ISO 8601 in UTC. Ids are opaque, and sort by time.
- Each answer has \`X-Request-Id\`: send one of your own, or quote ours when you ask for help.`;

/** The groups of operations (OpenAPI tags), in the order in which a new user meets them. */
const tags = [
  { name: "Inboxes", description: "Real email addresses, which you create and delete" },
  { name: "Sending", description: "New mail and replies, each sent exactly once" },
  { name: "Drafts", description: "Messages that are not sent yet: written for later, or scheduled" },
  { name: "Messages", description: "Mail of an inbox, by page or by search" },
  { name: "Threads", description: "Conversations, and their read flags" },
  { name: "Attachments", description: "Files of messages, by signed URLs that need no key" },
  { name: "Inbound", description: "Mail that comes by HTTP instead of SMTP" },
  { name: "Webhooks", description: "URLs that receive your events, and the secrets that sign them" },
  { name: "Events", description: "Events: the log, its deliveries, and the payloads of webhooks" },
  { name: "Domains", description: "Your own domains for addresses: their DNS records, and whether they are proven" },
  { name: "Outbox", description: "Mail and events that are still to be sent, and how to cancel them" },
  { name: "Suppressions", description: "Addresses that get no mail, and the reasons" },
  { name: "Rules", description: "Who may write and be written to, and what happens to mail that no rule decides" },
  { name: "Quarantine", description: "Mail that rules and policies have blocked" },
  { name: "Account", description: "The account of your key, with its limits" },
  { name: "Keys", description: "Keys of the account, each with an access and a reach" },
  { name: "Tokens", description: "Short-lived tokens of your key, for browsers and for one task" },
  { name: "Audit", description: "Who changed what in your account" },
  { name: "Admin", description: "For operators: all accounts, with the key of an operator alone" },
  { name: "Relay", description: "For the operator's relay: notices about mail that it accepted" },
  { name: "Health", description: "Health of the service, and its documentation" },
] as const;

/** The index of a group in the document. An unknown group comes last. */
function indexOfTag(name: string): number {
  const index = tags.findIndex((tag) => tag.name === name);
  return index === -1 ? tags.length : index;
}

interface Described {
  path: string;
  method: string;
  tag: string;
  of: AnyOperation;
}

/** The paths, sorted by group, and within a group by path. */
function pathsOf(routes: readonly Described[], writer: SchemaWriter) {
  const found = routes.toSorted(
    (one, other) => indexOfTag(one.tag) - indexOfTag(other.tag) || compare(one.path, other.path),
  );
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { path, method, tag, of } of found) {
    paths[path] ??= {};
    paths[path][method] = operationObject(of, { method: method.toUpperCase(), path }, [tag], writer);
  }
  return paths;
}

/** @elysiajs/swagger lists the routes and writes their paths. A route without `operation()` is not part of the API. */
async function describedRoutes(plugins: readonly AnyElysia[]): Promise<Described[]> {
  // Loaded only when the document is requested, because loading it would slow the start of the service down.
  const { swagger } = await import("@elysiajs/swagger");
  const collector = plugins.reduce(
    (app: AnyElysia, plugin) => app.use(plugin),
    new Elysia().use(swagger({ path: "/viewer", specPath: "/openapi.json", excludeStaticFile: false })),
  );
  const answer = await collector.handle(new Request("http://localhost/openapi.json"));
  const { paths } = (await answer.json()) as { paths: Record<string, Record<string, RouteDetail>> };
  const operations = new Map(
    collector.routes.map(({ hooks }) => (hooks.detail ?? {}) as RouteDetail).map((said) => [said.operationId, said]),
  );
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId, tags: [tag = ""] = [] }]): Described[] => {
      const of = operations.get(operationId)?.operation;
      return of === undefined ? [] : [{ path, method, tag, of }];
    }),
  );
  return [...routes, ...ownOperations.map(({ path, of }) => ({ path, method: "get", tag: "Health", of }))];
}

interface RouteDetail {
  operationId?: string;
  operation?: AnyOperation;
  tags?: string[];
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/**
 * The operations that return the document and its page. They are listed here, because the plugins, from which both are
 * made, do not include them.
 */
const ownOperations: readonly { path: string; of: AnyOperation }[] = [
  {
    path: "/openapi.json",
    of: {
      summary: "Get OpenAPI document",
      access: "open",
      description: "This document: every operation, field, refusal and event of this version.",
      answers: {
        200: Type.Object(
          { openapi: Type.String({ description: "Version of OpenAPI", examples: ["3.1.0"] }) },
          { description: "The document, as OpenAPI 3.1", additionalProperties: true },
        ),
      },
    },
  },
  {
    path: "/docs",
    of: {
      summary: "Read documentation",
      access: "open",
      description: "A page for browsers that shows this document. It loads nothing from elsewhere.",
      headers: {
        "If-None-Match": { description: "Entity tag of your copy", example: '"9f2c01a4e7b8d360"' },
      },
      answers: {
        200: Type.String({
          description: "The page",
          contentMediaType: "text/html",
          examples: ["<!doctype html>"],
        }),
        304: Type.Void({ description: "Your copy is current" }),
      },
    },
  },
];
