/** The ways to authenticate a request, as the document lists them. */
export const securitySchemes = {
  apiKey: { type: "http", scheme: "bearer", description: "The API key, as `Authorization: Bearer ibx_…`" },
  ingestToken: { type: "http", scheme: "bearer", description: "The token of `INGEST_TOKEN`" },
  relaySignature: {
    type: "apiKey",
    in: "header",
    name: "webhook-signature",
    description:
      "The signature of the relay of `RELAY_NOTICES`: `webhook-signature` or `svix-signature` (Resend), `X-Twilio-Email-Event-Webhook-Signature` (SendGrid), or within the body (Amazon SNS, Mailgun)",
  },
  relayPassword: { type: "http", scheme: "basic", description: "User and password of `RELAY_NOTICES=postmark:…`" },
  relayToken: { type: "http", scheme: "bearer", description: "The token of `RELAY_NOTICES=generic:…`" },
} as const;

export type SecurityScheme = keyof typeof securitySchemes;
