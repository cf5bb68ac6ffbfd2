import { documentReader } from "../../mail/documents/document-reader.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Checks that the process that reads documents, and suspicious mail, starts and answers. */
export async function checkDocuments(): Promise<Finding[]> {
  const { ok, fail } = findingsOf("documents");
  let fault: string | undefined;
  const reader = documentReader({
    onFault: (said) => {
      fault = said;
    },
  });
  const bytes = new TextEncoder().encode("words");
  const read = await reader.read(async () => ({ bytes, filename: "a.txt", contentType: "text/plain" }), "");
  reader.close();
  if (read !== undefined && "text" in read) return [ok("the process that reads attachments and large mail starts")];
  const seen = `the process that reads attachments and large mail does not answer${fault === undefined ? "" : `: ${fault}`}`;
  return [
    fail(
      seen,
      "Allow inboxd to start itself as a child: see the limits on processes and memory of its unit or container",
    ),
  ];
}
