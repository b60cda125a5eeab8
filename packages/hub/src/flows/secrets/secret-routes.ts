/** Routes of the secrets of flows, which can be written and used but not read. */
import { secretApi } from "@signalbox/contract/secrets.ts";
import { iso } from "../../kernel/http/paging.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Seal } from "../../kernel/lib/seal.ts";
import type { Store } from "../../store.ts";
import type { FindSecretUses } from "./secret-uses.ts";

const NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
const NAME_RULE =
  "A secret's name has 1 to 64 characters A–Z, 0–9 and _, and starts with a letter.";

export interface SecretRoutes {
  store: Pick<Store, "putSecret" | "listSecretNames" | "deleteSecret">;
  seal: Pick<Seal, "seal">;
  findUses: FindSecretUses;
  now: () => number;
}

export function secretRoutes({ store, seal: { seal }, findUses, now }: SecretRoutes): Route[] {
  return [
    implement(secretApi.list, async ({ tenant }) => {
      const names = await store.listSecretNames(tenant);
      const items = names.map(({ name, created_at, updated_at }) => ({
        name,
        created_at: iso(created_at),
        updated_at: iso(updated_at),
      }));
      return { json: { items } };
    }),
    implement(secretApi.put, async ({ tenant, param, body }) => {
      if (!NAME.test(param("name"))) throw new RequestError("invalid", "name", NAME_RULE);
      await store.putSecret(tenant, param("name"), await seal(body.value), now());
    }),
    implement(secretApi.remove, async ({ tenant, param }) => {
      const name = param("name");
      if (!(await store.deleteSecret(tenant, name)))
        throw new RequestError("not_found", "name", `There is no secret ${name.slice(0, 100)}.`);
      const uses = await findUses(tenant, name);
      const warnings = uses.map(
        ({ flow, nodes }) =>
          `The published flow ${flow} uses ${name}: its runs fail at ${nodes.join(", ")} until you add the secret again.`,
      );
      return { json: { warnings } };
    }),
  ];
}
