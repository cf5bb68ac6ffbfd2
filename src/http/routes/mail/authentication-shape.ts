import { Type } from "@sinclair/typebox";
import {
  arcResults,
  dkimResults,
  dmarcPolicies,
  dmarcResults,
  type Spam as StoredSpam,
  spfResults,
  verdicts,
} from "../../../domain/receive/authentication.ts";
import { named } from "../../document/schema.ts";
import { nullable, oneOf } from "../../shell/models.ts";

const domainExample = "example.com";

const aligned = (of: string) =>
  Type.Boolean({ description: `Whether ${of} is that of \`From\`, as its DMARC record asks`, examples: [true] });

/** The fields of an authentication that the API and events spell alike. */
const commonFields = {
  verdict: oneOf(verdicts, {
    description:
      "Whether the domain in `From` sent the mail. `pass`: it did; `fail`: it publishes DMARC, and nothing shows that it did, or `From` is missing or has several addresses; `none`: it publishes nothing, and nothing shows that it did; `temperror`: not decided in time. It says nothing about the person",
    examples: ["pass"],
  }),
  domain: nullable(Type.String({ examples: [domainExample] }), {
    description: "The domain in `From`, in its ASCII form; null if there is not exactly one",
  }),
  internal: Type.Boolean({
    description: "Whether an inbox of this service sent the mail. Then nothing was checked",
    examples: [false],
  }),
  spf: Type.Object(
    {
      result: oneOf(spfResults, {
        description: "Whether the client may send for the domain (RFC 7208)",
        examples: ["pass"],
      }),
      domain: nullable(Type.String({ examples: ["bounce.example.com"] }), {
        description: "The domain in `MAIL FROM`, or the name in `EHLO` if `MAIL FROM` is empty",
      }),
      aligned: aligned("this domain"),
    },
    { description: "The check of the client's address" },
  ),
  dkim: Type.Array(
    Type.Object({
      result: oneOf(dkimResults, {
        description:
          "Whether the signature is valid (RFC 6376). `policy`: it is too weak, does not cover the whole body, or was not checked because there were too many",
        examples: ["pass"],
      }),
      domain: Type.String({ description: "The domain that signed", examples: [domainExample] }),
      selector: Type.String({ description: "The name of its key", examples: ["s1"] }),
      aligned: aligned("this domain"),
    }),
    { description: "The signatures of the mail" },
  ),
  dmarc: Type.Object(
    {
      result: oneOf(dmarcResults, {
        description: "Whether SPF or DKIM passes for the domain in `From` (RFC 9989); `none` without a DMARC record",
        examples: ["pass"],
      }),
      policy: nullable(oneOf(dmarcPolicies, { examples: ["reject"] }), {
        description: "What the domain asks for if nothing passes; null without a DMARC record",
      }),
    },
    { description: "The check against the domain's DMARC record" },
  ),
  arc: Type.Object(
    {
      result: oneOf(arcResults, {
        description: "Whether the chain of servers that forwarded the mail is valid (RFC 8617)",
        examples: ["none"],
      }),
      sealers: Type.Array(Type.String({ examples: ["forwarder.example"] }), {
        description: "The domains of these servers, the first one first",
        examples: [[]],
      }),
    },
    { description: "The check of the servers that forwarded the mail" },
  ),
  source: oneOf(["checked", "arc", "upstream"], {
    description:
      "How the verdict was reached: `checked` here, by a forwarding server in `TRUSTED_ARC_SEALERS` (`arc`), or by a relay in `TRUSTED_RELAYS` (`upstream`)",
    examples: ["checked"],
  }),
};

const clientAddress = nullable(Type.String({ examples: ["192.0.2.9"] }), {
  description: "The IP address of the host that sent the mail; null if it is unknown",
});
const tls = Type.Boolean({ description: "Whether that host used TLS", examples: [true] });

const description = "The sender authentication of an inbound mail";

export const Authentication = named(
  "Authentication",
  Type.Object({ ...commonFields, clientAddress, tls }, { description }),
);

export const AuthenticationOfEvent = named(
  "AuthenticationOfEvent",
  Type.Object(
    { ...commonFields, client_address: clientAddress, tls },
    { description: `${description}, with the field names of events` },
  ),
);

const spamFields = {
  score: Type.Number({ description: "Its score: the higher, the more like spam", examples: [2.4] }),
  required: nullable(Type.Number({ examples: [15] }), {
    description: "The score from which a mail is spam; null if the filter does not say",
  }),
};
const isSpam = Type.Boolean({ description: "Whether the mail is spam", examples: [false] });

export const Spam = named(
  "Spam",
  Type.Object({ ...spamFields, isSpam }, { description: "What the operator's spam filter says about a mail" }),
);

export const SpamOfEvent = named(
  "SpamOfEvent",
  Type.Object(
    { ...spamFields, is_spam: isSpam },
    { description: "What the operator's spam filter says about a mail, with the field names of events" },
  ),
);

/** Returns the opinion of the spam filter with its fields in the order of the API, as `inContractOrder` does. */
export function toSpam({ score, required, isSpam }: StoredSpam) {
  return { score, required, isSpam };
}
