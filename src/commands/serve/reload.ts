import type { Logger } from "pino";
import type { Service } from "../../service/start.ts";

/** Reads the certificate again, and logs whether it is in use now. */
export async function reload({ reloadCertificate }: Service, log: Logger): Promise<void> {
  try {
    await reloadCertificate();
    log.info("certificate read again");
  } catch (error) {
    log.error({ err: error }, "certificate not changed: the new one cannot be used");
  }
}
