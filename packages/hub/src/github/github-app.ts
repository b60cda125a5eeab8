/**
 * Calls GitHub's API as the GitHub App, to look up installations, and to list and redeliver webhooks. A
 * JWT, which is signed with the private key of the App, authenticates the hub.
 */
import { SignJWT } from "jose";
import { z } from "zod";
import {
  createCallGithub,
  type GithubAnswer,
  type GithubRequestOptions,
} from "./github-request.ts";
import { toPkcs8 } from "./rsa-key.ts";

export interface GithubAppCredentials {
  id: string;
  /** PEM: PKCS#1 or PKCS#8. */
  privateKey: string;
}

export interface GithubApp {
  /** Returns the App. A success proves that the id and the key are right. */
  getApp(): Promise<GithubAnswer<{ slug: string; name: string }>>;
  /** Returns the URL to which GitHub sends the webhooks of the App; empty if the App has none. */
  getWebhookUrl(): Promise<GithubAnswer<string>>;
  getInstallation(id: string): Promise<GithubAnswer<GithubInstallation>>;
  /** Lists the attempts to deliver webhooks, newest first, 100 per page. */
  listDeliveries(cursor?: string): Promise<GithubAnswer<GithubDelivery[]>>;
  /** Asks GitHub to send a webhook again, with the same guid. */
  redeliver(id: string): Promise<GithubAnswer<undefined>>;
}

type GithubInstallation = z.infer<typeof installationSchema>;
export type GithubDelivery = z.infer<typeof deliverySchema>;

const appSchema = z.object({ slug: z.string().default(""), name: z.string() });

const hookSchema = z.object({ url: z.string().nullish() }).transform(({ url }) => url ?? "");

const installationSchema = z
  .object({
    id: z.string(),
    // Enterprises have a slug and no type.
    account: z.object({
      id: z.string(),
      login: z.string().optional(),
      slug: z.string().optional(),
      type: z.string().default("Enterprise"),
    }),
    suspended_at: z.string().nullish(),
  })
  .transform(({ id, account, suspended_at }) => ({
    id,
    account: { id: account.id, login: account.login ?? account.slug ?? "", type: account.type },
    isSuspended: typeof suspended_at === "string",
  }));

const deliverySchema = z
  .object({
    id: z.string(),
    guid: z.string(),
    delivered_at: z.string(),
    redelivery: z.boolean(),
    status: z.string(),
    status_code: z.number(),
    event: z.string(),
    action: z.string().nullable(),
    installation_id: z.string().nullable(),
  })
  .transform((delivery) => ({
    id: delivery.id,
    /** The id of the event, which all its attempts share: the header `X-GitHub-Delivery`. */
    guid: delivery.guid,
    deliveredAt: Date.parse(delivery.delivered_at),
    isRedelivery: delivery.redelivery,
    /** "OK", or GitHub's reason of the failure. */
    status: delivery.status,
    /** 0 if the hub did not respond. */
    statusCode: delivery.status_code,
    event: delivery.event,
    action: delivery.action,
    installation: delivery.installation_id,
  }));

class GithubKeyError extends Error {
  readonly code = "github_app_key";
}

/** Rejects if Web Crypto cannot import the key. */
export async function createGithubApp(
  { id, privateKey }: GithubAppCredentials,
  options: GithubRequestOptions,
): Promise<GithubApp> {
  const call = createCallGithub(options);
  const key = await importKey(privateKey);

  /** GitHub rejects a JWT from the future, and one that is valid for more than 10 minutes. */
  const authorize = async () => {
    const now = Math.floor(options.now() / 1000);
    const jwt = new SignJWT({ iss: id, iat: now - DRIFT_S, exp: now + VALID_S });
    return `Bearer ${await jwt.setProtectedHeader({ alg: "RS256", typ: "JWT" }).sign(key)}`;
  };

  return {
    getApp: async () => call({ path: "/app", authorization: await authorize(), schema: appSchema }),
    getWebhookUrl: async () =>
      call({
        path: "/app/hook/config",
        authorization: await authorize(),
        schema: hookSchema,
      }),
    getInstallation: async (installation) =>
      call({
        path: `/app/installations/${encodeURIComponent(installation)}`,
        authorization: await authorize(),
        schema: installationSchema,
      }),
    listDeliveries: async (cursor) =>
      call({
        path: `/app/hook/deliveries?per_page=100${cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
        authorization: await authorize(),
        schema: z.array(deliverySchema),
      }),
    redeliver: async (delivery) =>
      call({
        path: `/app/hook/deliveries/${encodeURIComponent(delivery)}/attempts`,
        method: "POST",
        authorization: await authorize(),
      }),
  };
}

/** The clock of the hub may be this much ahead of GitHub's clock. */
const DRIFT_S = 60;
/** Below GitHub's limit of 10 minutes, so that the clock of the hub may be ahead or behind. */
const VALID_S = 8 * 60;

async function importKey(pem: string) {
  const bytes = toPkcs8(pem);
  try {
    if (typeof bytes === "string") throw new Error(bytes);
    const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
    return await crypto.subtle.importKey("pkcs8", bytes, algorithm, false, ["sign"]);
  } catch (cause) {
    throw new GithubKeyError(
      "The private key of the GitHub App is not a readable RSA key. Generate a new one on the page of the App, and set GITHUB_APP_PRIVATE_KEY.",
      { cause },
    );
  }
}
