/**
 * The way in as a process that dies by kill -9, with the service's database in its environment: `bun dying-parser.ts MOMENT`, where the
 * moment is `kept` (a mail was acknowledged and waits to be parsed), `parsed` or `filed`. Prints its port once it listens.
 */
import { readConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/database/db.ts";
import { reception } from "./reception.ts";

const moment = process.argv[2];
const { databaseUrl, dataDir } = readConfig(process.env);
let turns = 0;
const world = await reception(await openDatabase({ url: databaseUrl, dataDir }), {
  // No mail gets a parser on arrival.
  parse: (parse) => async (raw, entry) => {
    turns += 1;
    if (turns === 1) return undefined;
    const mail = await parse(raw, entry);
    if (moment === "parsed") die();
    return mail;
  },
});
const { receiveUnparsed } = world.deps;
world.deps.receiveUnparsed = async (...asked) => {
  const outcome = await receiveUnparsed(...asked);
  if (moment === "filed") die();
  return outcome;
};
if (moment !== "kept") await world.parseKept();
console.log(world.port);

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
