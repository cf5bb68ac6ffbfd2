/**
 * How much a client wants an answer of a media type, from 0 (not at all) to 1, by its `Accept` field (RFC 9110 §12.5.1). What is said of the
 * type itself counts before what is said of its kind, and that before what is said of all. Without the field everything will do.
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

/** What is no quality is passed over, as if it were not there. */
function qualityIn(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.split("=");
    if (name.trim() === "q" && quality.test(value.trim())) return Number(value);
  }
  return 1;
}

const quality = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
