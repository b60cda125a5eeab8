import { parseArgs } from "node:util";

/**
 * Creates a token over the API. `args` are the options `--scope` and `--tenant` of `signalbox token create`,
 * so that tests need not start a process for the command.
 */
export async function createTokenByApi(
  hubUrl: string,
  adminToken: string,
  ...args: string[]
): Promise<{ id: string; token: string }> {
  const option = { type: "string" } as const;
  const { values } = parseArgs({ args, options: { scope: option, tenant: option } });
  const tenants = values.tenant?.split(",");
  const url = new URL("/api/tokens", hubUrl);
  if (tenants) url.searchParams.set("tenant", tenants[0] as string);
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "x", scopes: values.scope?.split(","), tenants }),
  });
  if (!response.ok)
    throw new Error(`POST /api/tokens: ${response.status} ${await response.text()}`);
  return (await response.json()) as { id: string; token: string };
}
