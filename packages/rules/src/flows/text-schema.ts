import { z } from "zod";

/**
 * A string schema with a message for values of other types. `z.string(message)` would also use the
 * message for violations of `min` and `max`.
 */
export const textSchema = (message: string) =>
  z.string({ error: ({ code }) => (code === "invalid_type" ? message : undefined) });
