import type { FileObserver } from "../flows/send/write-files.ts";
import type { Registry } from "./registry.ts";

export function fileObserver(metrics: Registry): FileObserver {
  const bytes = metrics.counter(
    "inboxd_upload_bytes_total",
    "Octets of files that came as uploads and in forms, those counted that were refused or broke off later",
    [],
  )({});
  return { came: (sizeBytes) => bytes.add(sizeBytes) };
}
