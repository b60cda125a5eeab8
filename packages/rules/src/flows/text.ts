import { z } from "zod";

/** A string with its own message for other types. A plain message would replace those of limits too. */
export const text = (message: string) =>
  z.string({ error: ({ code }) => (code === "invalid_type" ? message : undefined) });
