/** What the API answers, as far as the commands read it. */

export interface Inbox {
  id: string;
  address: string;
  externalId: string | null;
  createdAt: string;
}

export interface Message {
  id: string;
  threadId: string;
  direction: "inbound" | "outbound";
  status: string;
  fromAddr: string;
  fromName: string | null;
  toAddr: string;
  cc: string[];
  subject: string;
  bodyText: string;
  attachments: { filename: string; contentType: string; sizeBytes: number }[];
  failure: { message: string } | null;
  createdAt: string;
  truncated: boolean;
}

export interface Page<Row> {
  data: Row[];
  total: number;
}

/** An id stands in a path: what is none shall not lead elsewhere. */
export function pathOf(kind: string, id: string, rest = ""): string {
  return `/v1/${kind}/${encodeURIComponent(id)}${rest}`;
}
