/** The two tenants of `soak`: one attacks the hub, and the other (the victim) uses it normally. */
import { openSession, useSession } from "../test/support/attacks/sessions.ts";
import { deliver } from "../test/support/deliver.ts";
import { SECRET } from "./signed-webhooks.ts";
import type { AttackTarget } from "./soak-attacks.ts";

const ADMIN = "sbx_admin_of_the_soak_benchmark";

/** Tenants are GitHub accounts. Their webhooks name an installation. */
export const SOAK_SETTINGS = {
  SIGNALBOX_TENANCY: "github",
  SIGNALBOX_QUOTA: "0", // no limit
  SIGNALBOX_KEEP_MB: "1000000", // all webhooks of a long soak are compared at its end
  SIGNALBOX_TOKEN: ADMIN,
};
export const VICTIM = { account: 42, installation: 1_042 };
const ATTACKER = { account: 66, installation: 1_066 };
const APP = "soak";
/** 17 tokens with 64 sessions each exceed the limit of 1,024 sessions per process. */
const READERS = 17;

export interface Tenants {
  target: AttackTarget;
  /** Whether the victim's session, opened before the attacks, is still open. */
  isSessionOpen(): Promise<boolean>;
}

export async function createTenants(url: string): Promise<Tenants> {
  const post = async (token: string, path: string, body: object) => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const createToken = async ({ account }: typeof VICTIM, scope: string): Promise<string> => {
    const body = { name: "soak", scopes: [scope], tenants: [String(account)] };
    return ((await post(ADMIN, `/api/tokens?tenant=${account}`, body)) as { token: string }).token;
  };
  for (const { account, installation } of [VICTIM, ATTACKER]) {
    const login = `account-${account}`;
    const body = {
      action: "created",
      installation: { id: installation, account: { id: account, login } },
    };
    const response = await deliver(url, {
      type: "installation",
      secret: SECRET,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`installation: ${response.status} ${await response.text()}`);
  }
  const admin = await createToken(ATTACKER, "admin");
  await post(admin, "/api/apps", { slug: APP, name: "Soak" });
  const readers: string[] = [];
  for (let count = 0; count < READERS; count += 1)
    readers.push(await createToken(ATTACKER, "inbox:read"));
  const victim = await createToken(VICTIM, "inbox:read");
  const { id: session } = await openSession(url, victim);
  return {
    target: {
      url,
      app: APP,
      admin,
      reader: await createToken(ATTACKER, "inbox:read"),
      readers,
      installation: ATTACKER.installation,
    },
    isSessionOpen: async () => session !== null && (await useSession(url, victim, session)) === 200,
  };
}
