import { sealing } from "../../src/standards/sealing.ts";

/** The sealing of a service without ENCRYPTION_KEY. */
export const plainSealing = sealing({ current: undefined, previous: undefined }, () => new Uint8Array());
