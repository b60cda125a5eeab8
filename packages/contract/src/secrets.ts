/** The secrets of flows, which can be written and used but not read. */
import { z } from "zod";
import { listOf, time } from "./paging.ts";
import { route } from "./route.ts";

const tag = "secrets";
const scope = "admin";

/** Shorter secrets would match unrelated text when logs are masked. */
const secretValue = z
  .string("must be a string")
  .min(8, "must have at least 8 characters")
  .max(65_536)
  .refine((value) => value === value.trim(), "must have no whitespace at its start or end");

export const secretView = z.object({
  name: z.string(),
  created_at: time,
  updated_at: time,
});
export type Secret = z.output<typeof secretView>;

export const secretApi = {
  list: route({
    method: "get",
    path: "/api/secrets",
    summary: "List the names of secrets",
    tag,
    scope,
    response: { status: 200, schema: listOf(secretView) },
  }),
  put: route({
    method: "put",
    path: "/api/secrets/:name",
    summary: "Create or replace a secret; flows use it as {{ secrets.NAME }}",
    tag,
    scope,
    body: z.strictObject({ value: secretValue }),
    response: { status: 204 },
  }),
  remove: route({
    method: "delete",
    path: "/api/secrets/:name",
    summary: "Delete a secret. The published flows that use it fail until you add it again",
    tag,
    scope,
    response: {
      status: 200,
      schema: z.object({
        warnings: z
          .array(z.string())
          .describe("One warning for each published flow that uses the secret."),
      }),
    },
  }),
};
