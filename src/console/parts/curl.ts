import { service } from "../address.ts";

/** The same by curl, with the key where the shell has it. */
export function curl(method: string, path: string, body?: string): string {
  const parts = [
    `curl${method === "GET" ? "" : ` -X ${method}`} ${new URL(path, service).href}`,
    `-H "Authorization: Bearer $INBOXD_API_KEY"`,
    ...(body === undefined ? [] : [`-H "Content-Type: application/json"`, `-d '${body}'`]),
  ];
  return parts.join(" \\\n  ");
}
