/** The errors that the API returns: RFC 9457 problem documents, with a stable code. */
import { z } from "zod";

export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string().describe("Stable. Compare errors by this field."),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

export type Problem = z.output<typeof problemSchema>;
