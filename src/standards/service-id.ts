/** Whoever asks a port who is there knows by this header of the answer that it is an inboxd, and which. */
export const serviceIdHeader = "x-inboxd-service";
