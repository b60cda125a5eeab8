import { z } from "zod";

/** A text, and what to say of all else. As a plain message it would stand in for what limits say, too. */
export const text = (words: string) =>
  z.string({ error: ({ code }) => (code === "invalid_type" ? words : undefined) });
