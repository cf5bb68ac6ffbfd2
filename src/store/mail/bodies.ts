import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { shortBodyBytes } from "../../domain/page-budget.ts";

/** A body takes at most so many octets in a list of messages. */
export const longestListedBody = 256 << 10;

/** The bodies of a message as it is listed: what is too long to come with its row is cut. */
export interface ListedBodies {
  id: string;
  bodyText: string;
  bodyHtml: string | null;
}

/** A column knows its size without being read, so a body that is left out costs nothing. */
const bodiesSize = "octet_length(m.body_text) + coalesce(octet_length(m.body_html), 0)";
const textSize = "octet_length(m.body_text)";

/** Of a message `m` in a list: its bodies where they are short, else the size of each. */
export const listedBodies = sql.raw(
  `case when ${bodiesSize} <= ${shortBodyBytes} then m.body_text end as "bodyText",
   case when ${bodiesSize} <= ${shortBodyBytes} then m.body_html end as "bodyHtml",
   case when ${bodiesSize} > ${shortBodyBytes} then array[octet_length(m.body_text), coalesce(octet_length(m.body_html), 0)] end as "longBodies"`,
);

/** Of a message `m` of which an event tells: its text where that is short, else the size. */
export const eventBody = sql.raw(
  `case when ${textSize} <= ${shortBodyBytes} then m.body_text end as "bodyText",
   case when ${textSize} > ${shortBodyBytes} then ${textSize} end as "longBody"`,
);

/** The bodies of these messages as far as a list shows them, of which no more than that is read. */
export async function listListedBodies(db: Db, ids: readonly string[]): Promise<ListedBodies[]> {
  return query<ListedBodies>(
    db,
    sql`select m.id, ${cut("m.body_text")} as "bodyText", ${cut("m.body_html")} as "bodyHtml"
        from messages m where m.id = any(${arrayOf("text", ids)})`,
  );
}

/** The texts of these messages, whole. */
export async function listBodyTexts(db: Db, ids: readonly string[]): Promise<{ id: string; bodyText: string }[]> {
  if (ids.length === 0) return [];
  return query<{ id: string; bodyText: string }>(
    db,
    sql`select id, body_text as "bodyText" from messages where id = any(${arrayOf("text", ids)})`,
  );
}

/** Cuts before the octet with which a letter would begin that does not fit: octets 10xxxxxx are the rest of a letter. */
function cut(column: string): SQL {
  const most = longestListedBody;
  return sql.raw(
    `case when octet_length(${column}) > ${most} then (
       select convert_from(substring(head for (
         select max(octet) from generate_series(${most} - 3, ${most}) octet where get_byte(head, octet) & 192 <> 128)), 'UTF8')
       from convert_to(left(${column}, ${most} + 1), 'UTF8') head
     ) else ${column} end`,
  );
}
