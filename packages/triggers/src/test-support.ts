/** What the tests of the SDK share: a call of TRIGGER_CONFIGURE, and quick retries. */
import type { TriggerTool } from "./tools.ts";

export const quickRetries = { retry: { firstMs: 5, maxMs: 20 } };

/** A JWT as a client sends it. Its signature is not checked. */
export const meshToken = (claims: unknown): string =>
  `e30.${btoa(JSON.stringify(claims)).replaceAll("+", "-").replaceAll("/", "_")}.x`;

/** Calls TRIGGER_CONFIGURE as the connection. Returns the error message, or "ok". */
export async function configure(
  triggers: { tools(): TriggerTool[] },
  args: Record<string, unknown>,
  connectionId = "c",
): Promise<string> {
  const tool = triggers.tools().find(({ name }) => name === "TRIGGER_CONFIGURE");
  const headers = { "x-mesh-token": meshToken({ connectionId }) };
  const result = await tool?.handler({ enabled: true, ...args }, { requestInfo: { headers } });
  return result?.isError ? (result.content[0]?.text ?? "") : "ok";
}
