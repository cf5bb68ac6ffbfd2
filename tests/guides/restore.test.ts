import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blocksOf, inWords } from "../support/documentation.ts";
import { breaksPostgres } from "../support/engines.ts";
import { type RunningInboxd, startInboxd } from "../support/inboxd.ts";
import { type PostgresServer, startPostgres, unprivilegedAccount } from "../support/postgres.ts";
import { untilSo } from "../support/until.ts";
import { deliver } from "../support/world.ts";

const hasPgBackRest = existsSync("/usr/bin/pgbackrest");
if (!hasPgBackRest) console.log("Skipped: the guide to pgBackRest, since its program is not here");

const page = readFileSync(join(import.meta.dir, "../../docs/operations.md"), "utf8");
const chapter = page.slice(page.indexOf("### To an instant"), page.indexOf("### From the embedded database"));
const apiKey = "key-of-the-first-account-in-tests";

describe.if(breaksPostgres && hasPgBackRest)("The guide to an instant", () => {
  const directory = mkdtempSync(join(tmpdir(), "ibx-restore-"));
  const instead: Record<string, string> = {
    "/var/lib/pgbackrest": join(directory, "repository"),
    "pgbackrest --stanza": `pgbackrest --config=${directory}/pgbackrest.conf --stanza`,
  };
  const blocks = () => blocksOf(inWords(chapter, instead));
  const blockWith = (text: string) => blocks().find((block) => block.text.includes(text))?.text ?? expect.unreachable();
  const account = unprivilegedAccount();
  let postgres: PostgresServer;
  let inboxd: RunningInboxd;

  beforeAll(async () => {
    for (const name of ["", "repository", "locks", "logs", "spool"]) {
      if (name) mkdirSync(join(directory, name));
      if (account) chownSync(join(directory, name), account.uid, account.gid);
    }
    const settings = blockWith("archive_mode").trim().split("\n");
    postgres = await startPostgres(settings.map((line) => line.replace(/^(\w+) = '?(.*?)'?$/, "$1=$2")));
    const [at] = await postgres.ask(
      "select current_setting('data_directory') as data, current_setting('unix_socket_directories') as socket",
    );
    instead["/var/lib/postgresql/15/main"] = String(at?.data);
    const ofTest = [
      "pg1-user=inboxd",
      `pg1-socket-path=${at?.socket}`,
      "[global]",
      `lock-path=${directory}/locks`,
      `log-path=${directory}/logs`,
      `spool-path=${directory}/spool`,
    ];
    writeFileSync(join(directory, "pgbackrest.conf"), `${blockWith("repo1-path")}${ofTest.join("\n")}\n`);
    await postgres.ask("create database ibx");
    await start();
  }, 60_000);

  afterAll(async () => {
    await inboxd?.stop();
    await postgres?.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  async function start(): Promise<void> {
    const env = { DATABASE_URL: postgres.url("ibx"), API_KEY: apiKey, DATA_DIR: join(directory, "data") };
    inboxd = await startInboxd({ env });
  }

  /** Pastes a block of the guide, as the user of Postgres. */
  async function paste(text: string): Promise<void> {
    const as = account ? ["setpriv", `--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"] : [];
    const child = Bun.spawn([...as, "bash", "-euc", text], { cwd: directory, stdout: "pipe", stderr: "pipe" });
    const said = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, ...said]).toEqual([0, expect.anything(), expect.anything()]);
  }

  const now = async () => String((await postgres.ask("select clock_timestamp()::text as at"))[0]?.at);

  test("leads back to what was acknowledged before it, and to nothing else", async () => {
    const { address, id } = (await (await inboxd.request("POST", "/v1/inboxes", {})).json()) as Record<string, string>;
    /** The subjects of the mail that was answered with 250. */
    const ledger: string[] = [];
    async function send(count: number, name: string): Promise<string[]> {
      const subjects = Array.from({ length: count }, (_, number) => `${name} ${number}`);
      await Promise.all(
        subjects.map(async (subject) => {
          const mail = `From: jane@example.com\r\nSubject: ${subject}\r\n\r\nHello\r\n`;
          expect(await deliver(inboxd.smtpPort, mail, address ?? "")).toStartWith("250");
        }),
      );
      return subjects;
    }
    await paste(blockWith("stanza-create").split("\n")[0] ?? "");
    ledger.push(...(await send(20, "before the backup")));
    await paste(blockWith("stanza-create").split("\n")[1] ?? "");
    // Without the fraction of a second, the instant must still be after the end of the backup.
    const second = (instant: string) => instant.slice(0, "2026-11-28 10:00:00".length);
    const finished = await now();
    await untilSo(async () => second(await now()) > second(finished));
    ledger.push(...(await send(20, "after the backup")));
    const instant = await now();
    await send(20, "after the instant");
    // A server that crashes does not archive the rest of its log.
    const [last] = await postgres.ask("select pg_walfile_name(pg_switch_wal()) as name");
    await untilSo(async () => {
      const [row] = await postgres.ask("select last_archived_wal as name from pg_stat_archiver");
      return String(row?.name) >= String(last?.name);
    });
    await inboxd.stop();
    await postgres.stop();

    const restore = blockWith("--type=time").replace(/--target="[^"]*"/, `--target="${instant}"`);
    expect(restore).toContain(instant);
    await paste(restore);
    await postgres.start();
    await untilSo(async () => (await postgres.ask("select pg_is_in_recovery() as is"))[0]?.is === false);
    await start();
    const answer = await inboxd.request("GET", `/v1/inboxes/${id}/messages?limit=100`);
    const { data } = (await answer.json()) as { data: { subject: string }[] };
    expect(data.map(({ subject }) => subject).toSorted()).toEqual(ledger.toSorted());
    expect(await deliver(inboxd.smtpPort, "Subject: on\r\n\r\nOn\r\n", address ?? "")).toStartWith("250");
  }, 120_000);
});
