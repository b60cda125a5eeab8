/** Routes of the secrets of flows, which can be written and used but not read. */
import { z } from "zod";
import { iso } from "../../kernel/http/paging.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Seal } from "../../kernel/lib/seal.ts";
import type { Store } from "../../store.ts";
import type { FindSecretUses } from "./secret-uses.ts";

const tag = "secrets";
const scope = "admin" as const;
const NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
const NAME_RULE =
  "A secret's name has 1 to 64 characters A–Z, 0–9 and _, and starts with a letter.";

/** Shorter secrets would match unrelated text when logs are masked. */
const secretValue = z
  .string("must be a string")
  .min(8, "must have at least 8 characters")
  .max(65_536)
  .refine((value) => value === value.trim(), "must have no whitespace at its start or end");

export const secretView = z.object({
  name: z.string(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});

export interface SecretRoutes {
  store: Pick<Store, "putSecret" | "listSecretNames" | "deleteSecret">;
  seal: Pick<Seal, "seal">;
  findUses: FindSecretUses;
  now: () => number;
}

export function secretRoutes({ store, seal: { seal }, findUses, now }: SecretRoutes): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/secrets",
      summary: "List the names of secrets",
      tag,
      scope,
      response: { status: 200, schema: z.object({ items: z.array(secretView) }) },
      async handle({ tenant }) {
        const names = await store.listSecretNames(tenant);
        const items = names.map(({ name, created_at, updated_at }) => ({
          name,
          created_at: iso(created_at),
          updated_at: iso(updated_at),
        }));
        return { json: { items } };
      },
    }),
    defineRoute({
      method: "put",
      path: "/api/secrets/:name",
      summary: "Create or replace a secret; flows use it as {{ secrets.NAME }}",
      tag,
      scope,
      body: z.strictObject({ value: secretValue }),
      response: { status: 204 },
      async handle({ tenant, param, body }) {
        if (!NAME.test(param("name"))) throw new RequestError("invalid", "name", NAME_RULE);
        await store.putSecret(tenant, param("name"), await seal(body.value), now());
        return { status: 204 };
      },
    }),
    defineRoute({
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
      async handle({ tenant, param }) {
        const name = param("name");
        if (!(await store.deleteSecret(tenant, name)))
          throw new RequestError("not_found", "name", `There is no secret ${name.slice(0, 100)}.`);
        const uses = await findUses(tenant, name);
        const warnings = uses.map(
          ({ flow, nodes }) =>
            `The published flow ${flow} uses ${name}: its runs fail at ${nodes.join(", ")} until you add the secret again.`,
        );
        return { json: { warnings } };
      },
    }),
  ];
}
