/** Creates a token over the API. Takes the options of `signalbox token create`, without its process. */
import { parseArgs } from "node:util";

export async function createTokenByApi(
  hubUrl: string,
  admin: string,
  ...args: string[]
): Promise<{ id: string; token: string }> {
  const string = { type: "string" } as const;
  const { values } = parseArgs({ args, options: { scope: string, tenant: string } });
  const tenants = values.tenant?.split(",");
  const url = new URL("/api/tokens", hubUrl);
  if (tenants) url.searchParams.set("tenant", tenants[0] as string);
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "x", scopes: values.scope?.split(","), tenants }),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as { id: string; token: string };
}
