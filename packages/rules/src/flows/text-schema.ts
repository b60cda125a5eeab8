import { z } from "zod";

/**
 * A string schema with a message for values of other types. `z.string(message)` would use the message
 * also for its limits.
 */
export const textSchema = (message: string) =>
  z.string({ error: ({ code }) => (code === "invalid_type" ? message : undefined) });
