/**
 * The way in as a process that dies by kill -9, with the service's database in its environment: `bun dying-parser.ts MOMENT`, where the
 * moment is `unanswered` (a mail is stored, and waits to be parsed), `kept` (it was acknowledged, too), `parsed` or `filed`. Prints its port
 * once it listens.
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
  // The clock stands still by itself, and the history of a message shows only a filing that is later than its arrival.
  world.clock.pass(1_000);
  const outcome = await receiveUnparsed(...asked);
  if (moment === "filed") die();
  return outcome;
};
if (moment === "unanswered") {
  const { mail } = world.deps.db;
  const { transaction } = mail;
  mail.transaction = async (work) => {
    await transaction(work);
    return die();
  };
}
if (moment === "parsed" || moment === "filed") await world.parseKept();
console.log(world.port);

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("killed");
}
