/** The tenants of a walk, and what its parts have in common. */
import type { Credential, HubResponse, WalkedHub } from "./hub-client.ts";
import { type Ids, neverUsed, type WalkedTenant } from "./tenants.ts";

export const VICTIM = { account: 710_001, slug: "walrus", marker: "tusk7391" };
export const CALLER = { account: 710_002, slug: "beaver", marker: "dam48212" };
/** The tenants of the people who walk. */
export const OF_SESSION = { account: 710_004, slug: "gopher", marker: "hole6204" };
export const OF_CLIENT = { account: 710_005, slug: "badger", marker: "sett8315" };
export const CONTROL = { account: 710_003, slug: "marten", marker: "den59143" };

export interface Walk {
  hub: WalkedHub;
  victim: WalkedTenant;
  caller: WalkedTenant;
  /** Of the caller: a token, or the session or the OAuth token of a person. */
  credential: Credential;
  /** False to send requests only with all ids foreign, not also with one at a time. */
  oneByOne: boolean;
}

/** Ids like the victim's that no tenant has. */
export const unknownIds = ({ victim }: Walk): Ids => neverUsed(victim.ids, VICTIM);

/** Text of the victim in a response, except for the ids that the request contained. */
export function leaks(
  where: string,
  { text, headers }: Pick<HubResponse, "text" | "headers">,
  { marker, ids }: WalkedTenant,
  sent: readonly (keyof Ids)[],
): string[] {
  const all = `${text}\n${[...headers].join("\n")}`;
  const unsent = Object.entries(ids).filter(
    ([name, id]) => !sent.includes(name as keyof Ids) && UNGUESSABLE.test(id),
  );
  return [["text", marker], ...unsent].flatMap(([name, value]) =>
    all.includes(value as string)
      ? [`${where}: the response contains the other tenant's ${name}: ${text.slice(0, 600)}`]
      : [],
  );
}

/** Ids that a request of the caller cannot have created. */
const UNGUESSABLE = /[0-9a-f]{12}$|-[a-z2-9]{6}$/;
