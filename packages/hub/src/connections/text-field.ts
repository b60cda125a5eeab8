/** Zod schemas for text fields of requests. */
import { z } from "zod";

export const string = () =>
  z.string({
    error: ({ input }) => (input === undefined ? "is missing" : "must be a string"),
  });

export const text = (max: number) => limitText(string(), max);

/** Removes spaces at both ends. */
export const trimmedText = (max: number) => limitText(string().trim(), max);

const limitText = (schema: z.ZodString, max: number) =>
  schema.min(1, "must not be empty").max(max, `must have at most ${max} characters`);
