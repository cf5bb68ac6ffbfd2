import { escapeHtml } from "../../mail/html/html.ts";

/** A piece of HTML, as opposed to text that is yet to be escaped. */
export interface Html {
  readonly html: string;
}

type Piece = Html | string | number | undefined | false | readonly Piece[];

/** HTML from a template: what is put in is escaped, unless it is HTML already; nothing stands for `undefined` and `false`. */
export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return { html: String.raw({ raw: strings }, ...pieces.map(textOf)) };
}

export function trusted(markup: string): Html {
  return { html: markup };
}

function textOf(piece: Piece): string {
  if (piece === undefined || piece === false) return "";
  if (typeof piece === "string" || typeof piece === "number") return escapeHtml(String(piece));
  return "html" in piece ? piece.html : piece.map(textOf).join("");
}
