import postgres from "postgres";

/** The driver by itself; a unix socket is named as libpq does it (`?host=/run/postgresql`), which the driver does not read. */
export function clientOf(databaseUrl: string, options: postgres.Options<Record<string, never>> = {}): postgres.Sql {
  const url = new URL(databaseUrl);
  const directory = url.searchParams.get("host");
  url.searchParams.delete("host");
  const path = directory === null ? {} : { path: `${directory}/.s.PGSQL.${url.port || "5432"}` };
  return postgres(url.href, { ...path, ...options });
}
