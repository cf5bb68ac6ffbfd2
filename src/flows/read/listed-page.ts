import type { Db } from "../../database/db.ts";
import { rowsOfPage } from "../../domain/page-budget.ts";
import { utf8Length } from "../../standards/text.ts";
import { listListedBodies, longestListedBody } from "../../store/mail/bodies.ts";
import type { ListedMessage, ShownMessage } from "../../store/mail/message-pages.ts";

/**
 * The messages of a list with their bodies: as many as a page has room for, with long bodies cut. Most pages have no long body, and
 * stay as they are.
 */
export async function listedPage(db: Db, found: readonly ListedMessage[]): Promise<readonly ShownMessage[]> {
  if (found.every((message) => message.longBodies === null)) return found;
  const page = found.slice(0, rowsOfPage(found.map(listedBytes)));
  const long = page.flatMap(({ id, longBodies }) => (longBodies === null ? [] : [id]));
  const bodiesOf = new Map((await listListedBodies(db, long)).map((bodies) => [bodies.id, bodies]));
  return page.flatMap((message): ShownMessage[] => {
    if (message.longBodies === null) return [message];
    const bodies = bodiesOf.get(message.id);
    // The inbox was deleted meanwhile.
    if (bodies === undefined) return [];
    const isCut = message.longBodies.some((bytes) => bytes > longestListedBody);
    return [{ ...message, ...bodies, truncated: message.truncated || isCut }];
  });
}

function listedBytes(message: ListedMessage): number {
  if (message.longBodies === null) return utf8Length(message.bodyText) + utf8Length(message.bodyHtml ?? "");
  const [text, html] = message.longBodies;
  return Math.min(text, longestListedBody) + Math.min(html, longestListedBody);
}
