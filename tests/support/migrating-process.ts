/** Another process that starts on a database: `bun migrating-process.ts URL`. */
import { openDatabase } from "../../src/database/db.ts";
import { migrate } from "../../src/store/migrate.ts";

const db = await openDatabase({ url: process.argv[2], dataDir: "" });
await migrate(db);
await db.close();
