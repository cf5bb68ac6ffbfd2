import { setDefaultTimeout } from "bun:test";

// The time-out of `bun test FILE`: bunfig.toml loads this, since it has no setting for it. scripts/test.ts passes the same.
setDefaultTimeout(90_000);
