/** Groups recent events by endpoint, and describes the secrets and the config of endpoints. */
import type { EventType, Source, SourceKind } from "@signalbox/contract";

export interface ReceivedEvents {
  lastAt: string;
  types: string[];
}

/** Groups types by the id of their endpoint. The id of an endpoint without a key is its kind. */
export function groupByEndpoint(types: readonly EventType[]): Map<string, ReceivedEvents> {
  const received = new Map<string, ReceivedEvents>();
  for (const { source_id, type, last_received_at } of types) {
    const before = received.get(source_id);
    received.set(source_id, {
      lastAt: before && before.lastAt > last_received_at ? before.lastAt : last_received_at,
      types: [...(before?.types ?? []), type],
    });
  }
  return received;
}

/** Returns `1 secret`, or `2 secrets, the former valid until 16:46`. Expired secrets are not counted. */
export function describeSecrets(
  { secrets: stored }: Pick<Source, "secrets">,
  format: (iso: string) => string,
  now: number = Date.now(),
): string {
  const secrets = stored.filter(
    ({ expires_at }) => expires_at === null || Date.parse(expires_at) > now,
  );
  if (secrets.length === 0) return "no secret: unsigned webhooks are rejected";
  const expiring = secrets.flatMap(({ expires_at }) => expires_at ?? []);
  const last = expiring.toSorted().at(-1);
  if (last !== undefined)
    return `${secrets.length} secrets, the former valid until ${format(last)}`;
  return secrets.length === 1 ? "1 secret" : `${secrets.length} secrets`;
}

/** How an endpoint without a key treats webhooks. */
export const VERIFICATION_TEXT: Record<SourceKind["verification"], string> = {
  signed: "secret set",
  unsigned: "no secret: unsigned webhooks are accepted",
  rejected: "no secret: webhooks are rejected",
  key_required: "webhooks are rejected: add an endpoint with a key",
};

/** Returns text such as `mode hmac, header X-Acme-Signature`. */
export const describeConfig = (config: Source["config"]): string =>
  Object.entries(config)
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
