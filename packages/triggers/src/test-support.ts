/** Helpers of the SDK's tests. */
import type { TriggerTool } from "./tools.ts";

export const quickRetries = { retry: { firstMs: 5, maxMs: 20 } };

/** Returns a JWT with these claims. Its signature is invalid, because servers do not check it. */
export const meshToken = (claims: unknown): string =>
  `e30.${btoa(JSON.stringify(claims)).replaceAll("+", "-").replaceAll("/", "_")}.x`;

/** Calls TRIGGER_CONFIGURE for a connection. Returns the error message, or "ok". */
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
