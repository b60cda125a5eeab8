import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { Seal } from "../../kernel/lib/seal.ts";
import type { Store } from "../../store.ts";

/** Returns a function that reads and decrypts secrets by name. */
export const createSecretLoader =
  (store: Pick<Store, "getSecrets">, { unseal }: Pick<Seal, "unseal">) =>
  async (tenant: string, names: readonly string[]): Promise<Record<string, string>> => {
    const sealed = await store.getSecrets(tenant, names);
    const missing = names.filter((name) => !Object.hasOwn(sealed, name));
    if (missing.length > 0)
      throw new Permanent(`There is no secret ${missing.join(", ")}. Add it under /api/secrets.`, {
        code: "no_secret",
      });
    const decrypted = Object.entries(sealed).map(async ([name, text]) => [
      name,
      await unseal(text),
    ]);
    return Object.fromEntries(await Promise.all(decrypted));
  };
