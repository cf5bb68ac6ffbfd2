/** The response header that identifies an inboxd service on a port. */
export const serviceIdHeader = "x-inboxd-service";
