/**
 * The quality of a media type in an `Accept` field (RFC 9110 §12.5.1), from 0 (not acceptable) to 1. An entry for the type wins over an
 * entry for its kind (`text/*`), which wins over an entry for all types. Without the field every type has quality 1.
 */
export function acceptedQuality(accept: string | null, mediaType: string): number {
  if (accept === null || accept.trim() === "") return 1;
  const kind = `${mediaType.slice(0, mediaType.indexOf("/"))}/*`;
  const qualities = new Map<string, number>();
  for (const range of accept.toLowerCase().split(",")) {
    const [name = "", ...parameters] = range.split(";");
    qualities.set(name.trim(), qualityIn(parameters));
  }
  return qualities.get(mediaType) ?? qualities.get(kind) ?? qualities.get("*/*") ?? 0;
}

/** The quality in the parameters of an entry. An invalid one is ignored. */
function qualityIn(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=");
    if (name.trim() === "q" && quality.test(value.trim())) return Number(value);
  }
  return 1;
}

const quality = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
