import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { shortBodyBytes } from "../../domain/page-budget.ts";

/** The most octets of a body in a list of messages. */
export const longestListedBody = 256 << 10;

/** The bodies of a listed message. Long ones are cut. */
export interface ListedBodies {
  id: string;
  bodyText: string;
  bodyHtml: string | null;
}

/** The sizes of both bodies. Postgres knows the size of a column without reading it, so a body that is left out costs nothing. */
const bodiesSize = "octet_length(m.body_text) + coalesce(octet_length(m.body_html), 0)";
const textSize = "octet_length(m.body_text)";

/** Selects the bodies of a listed message `m` if they are short, else only their sizes. */
export const listedBodies = sql.raw(
  `case when ${bodiesSize} <= ${shortBodyBytes} then m.body_text end as "bodyText",
   case when ${bodiesSize} <= ${shortBodyBytes} then m.body_html end as "bodyHtml",
   case when ${bodiesSize} > ${shortBodyBytes} then array[octet_length(m.body_text), coalesce(octet_length(m.body_html), 0)] end as "longBodies"`,
);

/** Selects the text of an event's message `m` if it is short, else only its size, or the size of the content of its draft `d`. */
export const eventBody = sql.raw(
  `case when ${textSize} <= ${shortBodyBytes} then m.body_text end as "bodyText",
   case when ${textSize} > ${shortBodyBytes} then ${textSize} when d.id is not null then coalesce(octet_length(d.content::text), 0) end
     as "longBody"`,
);

/** Lists the bodies of these messages, each cut to `longestListedBody`. The rest of a long body is not transferred. */
export async function listListedBodies(db: Db, ids: readonly string[]): Promise<ListedBodies[]> {
  return query<ListedBodies>(
    db,
    sql`select m.id, ${cut("m.body_text")} as "bodyText", ${cut("m.body_html")} as "bodyHtml"
        from messages m where m.id = any(${arrayOf("text", ids)})`,
  );
}

/** Lists the texts of these messages, uncut. */
export async function listBodyTexts(db: Db, ids: readonly string[]): Promise<{ id: string; bodyText: string }[]> {
  if (ids.length === 0) return [];
  return query<{ id: string; bodyText: string }>(
    db,
    sql`select id, body_text as "bodyText" from messages where id = any(${arrayOf("text", ids)})`,
  );
}

/** Cuts a column to `longestListedBody` octets, but not within a character: an octet 10xxxxxx continues the character before it. */
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
