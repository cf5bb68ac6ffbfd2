import postgres from "postgres";

/** The bare driver; it does not read libpq's notation of a unix socket (`?host=/run/postgresql`). */
export function clientOf(databaseUrl: string, options: postgres.Options<Record<string, never>> = {}): postgres.Sql {
  const url = new URL(databaseUrl);
  const directory = url.searchParams.get("host");
  url.searchParams.delete("host");
  const path = directory === null ? {} : { path: `${directory}/.s.PGSQL.${url.port || "5432"}` };
  return postgres(url.href, { ...path, ...options });
}
