import { type SQL, sql } from "drizzle-orm";
import { asJson } from "../columns.ts";
import { recipients } from "../schema.ts";

const shownFields = asJson(recipients, "r", [
  ...(["address", "name", "type", "status", "providerMessageId", "failure", "delivery"] as const),
]);

/** The rows of the recipients of an outbound message, as JSON in their order. */
export function recipientsOf(message: string, fields: SQL = shownFields): SQL {
  return sql`(select json_agg(${fields} order by r.position) from recipients r where r.message_id = ${sql.raw(message)}.id)`;
}

/** Whether there are any: of one without a name all stands in the message's own row. */
export const hasRecipients = sql.raw("m.direction = 'outbound' and (m.recipient_count > 1 or m.to_addrs is not null)");
