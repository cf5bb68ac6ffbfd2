import { type Command, Option } from "commander";
import { auditActions } from "../domain/access/audit.ts";
import { admin } from "./admin.ts";
import { reporting } from "./cli.ts";
import { shortTime } from "./short-time.ts";

interface OperatorRow {
  id: string;
  name: string;
  key: string;
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  revokedAt: string | null;
}

interface AuditRow {
  at: string;
  action: string;
  actor: { type: string; name: string | null };
  account: string | null;
  target: { type: string; id: string };
  ip: string | null;
}

/** The commands for the keys of operators, which open `/v1/admin`. */
export function operatorCommands(program: Command): void {
  const operator = program.command("operator").description("manage the keys of operators, which open /v1/admin");
  reporting(
    operator
      .command("create <name>")
      .description("create the key of an operator and print it once")
      .option("--expires <instant>", "its end: a day such as 2027-03-21, or an instant (default: none)"),
    (name: string, { expires }: { expires?: string }) =>
      admin({ operation: "operator create", arguments: { name, expires } }),
  );
  reporting(
    operator.command("list").description("list the keys of operators, newest first"),
    async () => (await admin({ operation: "operator list", arguments: {} })) as OperatorRow[],
    (operators, calendar) =>
      operators.map(({ id, name, key, ...at }) => ({
        name,
        key,
        created: shortTime(at.createdAt, calendar),
        expires: shortTime(at.expiresAt, calendar),
        used: shortTime(at.lastUsedAt, calendar),
        revoked: shortTime(at.revokedAt, calendar),
        id,
      })),
  );
  reporting(
    operator.command("revoke <operator>").description("revoke the key of an operator, by its name or id"),
    (name: string) => admin({ operation: "operator revoke", arguments: { name } }),
  );
}

interface AuditOptions {
  account?: string;
  action?: string;
  actor?: string;
  target?: string;
  limit?: string;
}

/** Adds `audit`, which lists who changed what. */
export function auditCommand(program: Command): void {
  reporting(
    program
      .command("audit")
      .description("list who changed what, newest first")
      .option("--account <name>", "list only changes in this account (default: all, and the service)")
      .addOption(new Option("--action <action>", "list only this action").choices(auditActions))
      .option("--actor <actor>", "list only what this key did, by its id, or: key, operator, cli, service")
      .option("--target <id>", "list only what was done to this thing, by its id")
      .option("--limit <number>", "the most entries to list, 1 to 1000 (default: 50)"),
    async ({ account, action, actor, target, limit }: AuditOptions) =>
      (await admin({
        operation: "audit list",
        arguments: { account, action, actor, target, limit },
      })) as AuditRow[],
    (entries, calendar) =>
      entries.map(({ at, action, actor, account, target, ip }) => ({
        time: shortTime(at, calendar),
        action,
        by: actor.name ?? actor.type,
        account,
        ip,
        target: target.id,
      })),
  );
}
