/**
 * One small story, told by every example of the document: Jane writes to Ada's inbox, and a program answers her.
 * The ids are real ones, made at the instants that stand beside them.
 */
export const examples = {
  inboxId: "inb_01km57j4m0eh7awf6pjemv292z",
  address: "ada@inbox.localhost",
  inboxCreatedAt: "2026-03-20T09:00:00.000Z",
  externalId: "user-7",
  threadId: "thr_01km7xnw70ejr8hy7ppemk390m",
  messageId: "msg_01km7xnw70ejr8hy7ppemk391e",
  rfcMessageId: "<CAF1@mail.example.com>",
  attachmentId: "att_01km7xnw70ejr8hy7ppemk3951",
  filename: "invoice.pdf",
  uploadId: "upl_01km7xnw70ejr8hy7ppemk398a",
  signature: "9f2c01a4e7b8d3605d1c7e2f4b6a8093c5d7e9f1a3b5c7d9e0f2a4b6c8d0e1f3",
  linkExpires: "1774088400",
  linkExpiresAt: "2026-03-21T10:20:00.000Z",
  eventId: "evt_01km7xnw70ejr8hy7ppemk397f",
  sender: "jane@example.com",
  senderName: "Jane Doe",
  subject: "Your order",
  question: "Where is it?",
  receivedAt: "2026-03-21T10:05:00.000Z",
  answer: "It is on its way.",
  answerId: "msg_01km7xshd0efrsmm0nxk81y60b",
  providerMessageId: "4F5xQ21zT9",
  cursor: "MS45NTEuOWYyYzAxYTRlN2I4ZDM2MA",
  webhookId: "whk_01km57j4m0eh7awf6pjemv2932",
  webhookUrl: "https://example.com/hooks/inboxd",
  suppressionId: "sup_01km7xnw70ejr8hy7ppemk3a2c",
  suppressedUntil: "2026-06-19T10:05:00.000Z",
  secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD4VOGAZ0ExAm=",
  token:
    "ibt_eyJ2IjoxLCJrZXkiOiJrZXlfMDFrbTU3ajRtMGVoN2F3ZjZwamVtdjI5MzAiLCJhY2Nlc3MiOiJyZWFkIiwiaW5ib3giOiJpbmJfMDFrbTU3ajRtMGVoN2F3ZjZwamVtdjI5MnoiLCJleHAiOjE3NzQwODg0MDB9.PN6XqmAdAChjEmTNJusiiRgcFpql3tgpKJ4Rd8KrqWo",
  accountId: "acc_01km57gaj0ensrzmay9tpnrkga",
  keyId: "key_01km57j4m0eh7awf6pjemv2930",
  requestId: "0197f4a2-7a3e-7c55-8d1e-2f0b6a9c4e10",
} as const;
