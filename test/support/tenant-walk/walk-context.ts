/** The tenants of a walk, and the values and functions that its steps share. */
import type { Credential, HubResponse, HubUnderTest } from "./hub-client.ts";
import { type Ids, randomizeIds, type TenantFixture, type TenantIdentity } from "./tenants.ts";

type Identity = TenantIdentity;
/** The tenant whose ids are foreign ids to the others. */
export const VICTIM: Identity = { account: 710_001, slug: "walrus", marker: "tusk7391" };
/** The tenant whose token sends requests with foreign ids. */
export const CALLER: Identity = { account: 710_002, slug: "beaver", marker: "dam48212" };
/** The tenant that sends requests with its own ids. */
export const CONTROL: Identity = { account: 710_003, slug: "marten", marker: "den59143" };
/** The tenant of an admin who sends requests with foreign ids by a session. */
export const SESSION_TENANT: Identity = { account: 710_004, slug: "gopher", marker: "hole6204" };
/** The tenant of an admin who sends requests with foreign ids by an OAuth client. */
export const CLIENT_TENANT: Identity = { account: 710_005, slug: "badger", marker: "sett8315" };

export interface WalkContext {
  hub: HubUnderTest;
  victim: TenantFixture;
  caller: TenantFixture;
  /** The caller's credential: a token, or the session or the OAuth token of a person. */
  credential: Credential;
  /** Whether each request is sent with one foreign id at a time, in addition to all foreign ids together. */
  oneByOne: boolean;
}

/** Returns ids in the format of the victim's ids that no tenant has. */
export const createUnknownIds = ({ victim }: WalkContext): Ids => randomizeIds(victim.ids, VICTIM);

/** Reports the victim's marker and ids in a response. Ids in `sent`, which the caller has sent, are allowed. */
export function findLeaks(
  where: string,
  { text, headers }: Pick<HubResponse, "text" | "headers">,
  { marker, ids }: TenantFixture,
  sent: readonly (keyof Ids)[],
): string[] {
  const response = `${text}\n${[...headers].join("\n")}`;
  const unsent = Object.entries(ids).filter(
    ([name, id]) => !sent.includes(name as keyof Ids) && GENERATED_ID.test(id),
  );
  return [["text", marker], ...unsent].flatMap(([name, value]) =>
    response.includes(value as string)
      ? [`${where}: the response contains the other tenant's ${name}: ${text.slice(0, 600)}`]
      : [],
  );
}

/** The random end of ids that the hub generates. The caller could itself have created data with other ids. */
const GENERATED_ID = /[0-9a-f]{12}$|-[a-z2-9]{6}$/;
