import { Type } from "@sinclair/typebox";
import { domainStatuses } from "../../../domain/domains/readiness.ts";
import { recordTypes } from "../../../domain/domains/records.ts";
import { recordProblems, recordPurposes, recordStatuses } from "../../../domain/domains/seen-record.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";

const isReady = ["ready", "not_ready"] as const;

/** Fields of a DNS record, in the order of the document. Events have some of them. */
export const recordFields = {
  purpose: oneOf(recordPurposes, {
    description:
      "`dkim`: the proof of ownership, and the key of signatures; `mx`: mail to the domain comes here; `return_path`: bounces come to the domain, and SPF agrees with it; `dmarc`: what receivers do with forged mail",
    examples: ["dkim"],
  }),
  required: Type.Boolean({ description: "Whether the domain is proven by this record", examples: [true] }),
  type: oneOf(recordTypes, { description: "Type of the record", examples: ["TXT"] }),
  name: Type.String({ description: "Whole name of the record", examples: [examples.dkimName] }),
  host: nullable(Type.String({ examples: ["ibx-7k2m9q4t._domainkey"] }), {
    description:
      "The name without that of the zone, as the forms of DNS providers ask for it; `@` for the zone itself. Null until the zone is known",
  }),
  value: Type.String({
    description: "Value of the record, without quotation marks",
    examples: ["v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA"],
  }),
  priority: nullable(Type.Integer({ examples: [10] }), { description: "Of an MX record; null for others" }),
  status: oneOf(["unchecked", ...recordStatuses], {
    description:
      "As the last check found it. `unknown`: no name server gave an answer, or they differ, which never counts against the domain",
    examples: ["valid"],
  }),
  problem: nullable(oneOf(recordProblems, { examples: ["doubled_name"] }), {
    description: "What is wrong with it, as a word for programs; null if nothing is",
  }),
  hint: nullable(Type.String({ examples: ["Publish this record."] }), {
    description: "What to do, as a sentence for people; null if there is nothing to do",
  }),
  found: Type.Array(Type.String({ examples: ["v=DKIM1; k=rsa; p="] }), {
    description: "What the name servers have there: at most 5 values of at most 512 characters",
  }),
};

const DomainRecord = named(
  "DomainRecord",
  Type.Object(recordFields, { description: "A DNS record of a domain: what to publish, and what was found" }),
);

/** Fields of a domain, in the order of the document. Events have some of them. */
export const domainFields = {
  id: Type.String({ description: "Id of the domain", examples: [examples.domainId] }),
  domain: Type.String({ description: "Its name, in lower case and A-labels", examples: [examples.domain] }),
  shared: Type.Boolean({
    description: "Whether the operator shares it with all accounts. Then `records` is empty",
    examples: [false],
  }),
  status: oneOf(domainStatuses, {
    description:
      "`pending`: not proven yet; `verified`: proven; `failing`: the proof is gone, and everything goes on until `failsAt`; `failed`: not proven in time, or no longer",
    examples: ["verified"],
  }),
  sending: oneOf(isReady, { description: "Whether its inboxes may send", examples: ["ready"] }),
  receiving: oneOf(isReady, {
    description: "Whether its inboxes may receive, and all of its MX records lead here",
    examples: ["ready"],
  }),
  subdomains: Type.Boolean({ description: "Whether inboxes may have any name below it", examples: [false] }),
  records: Type.Array(DomainRecord, { description: "The DNS records to publish" }),
  inboxCount: Type.Integer({ description: "The number of your inboxes at it", examples: [3] }),
  checkedAt: nullable(instant({ examples: [examples.receivedAt] }), {
    description: "When its records were last checked; null before the first check",
  }),
  nextCheckAt: nullable(instant({ examples: [examples.receivedAt] }), {
    description: "When they are checked next; null if they are not checked any more",
  }),
  verifiedAt: nullable(instant({ examples: [examples.receivedAt] }), {
    description: "When it was last proven after it was not; null if it never was",
  }),
  failsAt: nullable(instant({ examples: [examples.receivedAt] }), {
    description: "When a failing domain fails; null for others",
  }),
  createdAt: instant({ description: "When it was added", examples: [examples.inboxCreatedAt] }),
};

export const DomainShape = named(
  "Domain",
  Type.Object(domainFields, { description: "A domain of yours, or a shared one, for addresses of inboxes" }),
);
