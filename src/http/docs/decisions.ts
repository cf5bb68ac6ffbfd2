import api from "../../../docs/decisions/api.md" with { type: "text" };
import console from "../../../docs/decisions/console.md" with { type: "text" };
import database from "../../../docs/decisions/database.md" with { type: "text" };
import developing from "../../../docs/decisions/developing.md" with { type: "text" };
import dns from "../../../docs/decisions/dns.md" with { type: "text" };
import extract from "../../../docs/decisions/extract.md" with { type: "text" };
import mail from "../../../docs/decisions/mail.md" with { type: "text" };
import mcp from "../../../docs/decisions/mcp.md" with { type: "text" };
import operating from "../../../docs/decisions/operating.md" with { type: "text" };
import outbox from "../../../docs/decisions/outbox.md" with { type: "text" };
import reading from "../../../docs/decisions/reading.md" with { type: "text" };
import receiving from "../../../docs/decisions/receiving.md" with { type: "text" };
import reports from "../../../docs/decisions/reports.md" with { type: "text" };
import sending from "../../../docs/decisions/sending.md" with { type: "text" };
import streams from "../../../docs/decisions/streams.md" with { type: "text" };
import webhooks from "../../../docs/decisions/webhooks.md" with { type: "text" };
import index from "../../../docs/decisions.md" with { type: "text" };

const pages = [
  receiving,
  mail,
  extract,
  sending,
  outbox,
  reports,
  webhooks,
  reading,
  streams,
  api,
  database,
  console,
  mcp,
  dns,
  operating,
  developing,
];

/** All pages about design decisions as one guide: the index, then each page, with its headings one level lower. */
export const decisions = [index, ...pages.map((page) => page.replaceAll(/^#/gm, "##"))].join("\n");
