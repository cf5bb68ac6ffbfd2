import { verdictText } from "../../../sdk/typescript/src/verdict.ts";
import type { Authentication } from "../../domain/receive/authentication.ts";
import type { AuthenticationStep } from "../../mail/authenticate/authenticate.ts";
import type { Checked } from "./check-file.ts";

/** The result of `inboxd authenticate` for a person: the verdict, the checks behind it, and the questions to the DNS. */
export function wordsOf({ authentication, steps }: Checked): string {
  const parts = steps.filter((step) => step.part !== "dns");
  const questions = steps.filter((step) => step.part === "dns");
  const checks = parts.map((step) => [labels[step.part], step.result, wordsAbout(step, authentication)]);
  const asked = questions.map(({ type, name, answer }) => [type, name, shortened(answer)]);
  return [
    `${authentication.verdict}: ${verdictText(authentication)}\n`,
    columns(checks),
    asked.length === 0 ? "" : `DNS questions:\n${columns(asked)}`,
  ]
    .filter((block) => block !== "")
    .join("\n");
}

const labels = { from: "From", spf: "SPF", dkim: "DKIM", dmarc: "DMARC", arc: "ARC" } as const;

type Part = Exclude<AuthenticationStep, { part: "dns" }>;

function wordsAbout({ part, subject, comment }: Part, authentication: Authentication): string {
  const whole = [subject, comment].filter((text) => text !== "").join(": ");
  if (part === "spf") return `${whole}${alignedWith(authentication.spf.aligned)}`;
  if (part === "dkim") {
    const signature = authentication.dkim.find(
      ({ domain, selector }) => subject === `${selector}._domainkey.${domain}`,
    );
    return `${whole}${alignedWith(signature?.aligned === true)}`;
  }
  if (part === "dmarc")
    return subject === "" ? "no policy is published" : `${subject} asks to treat other mail as p=${comment}`;
  return whole;
}

function alignedWith(isAligned: boolean): string {
  return isAligned ? " (counts for the domain in From)" : " (does not count for the domain in From)";
}

function columns(rows: readonly (readonly string[])[]): string {
  const widths = [0, 1].map((index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows
    .map(([first = "", second = "", third = ""]) =>
      `  ${first.padEnd(widths[0] ?? 0)}  ${second.padEnd(widths[1] ?? 0)}  ${third}`.trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function shortened(text: string): string {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
}

const mostCharacters = 200;
