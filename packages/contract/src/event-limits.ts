/** The limits of texts that are stored as columns of an event. */
export const MAX_ID = 500;
export const MAX_TYPE = 200;
export const MAX_TIMESTAMP = 100;
