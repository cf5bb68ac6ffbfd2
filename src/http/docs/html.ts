import { escapeHtml } from "../../mail/html/html.ts";

/** A piece of HTML. Other text has to be escaped first. */
export interface Html {
  readonly html: string;
}

type Piece = Html | string | number | undefined | false | readonly Piece[];

/** Makes HTML from a template. Values are escaped unless they are HTML; `undefined` and `false` become nothing. */
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
