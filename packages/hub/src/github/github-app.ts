/**
 * Calls GitHub's API as the GitHub App. A JWT, which is signed with the private key of the App, authenticates
 * the hub.
 */
import { SignJWT } from "jose";
import { z } from "zod";
import {
  createCallGithub,
  type GithubAnswer,
  type GithubRequest,
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
  /** Sends a request with the JWT. */
  call: CallAsApp;
}

export type CallAsApp = <Value = undefined>(
  request: Omit<GithubRequest<Value>, "authorization">,
) => Promise<GithubAnswer<Value>>;

type GithubInstallation = z.infer<typeof installationSchema>;

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

class GithubKeyError extends Error {
  readonly code = "github_app_key";
}

/** Rejects if Web Crypto cannot import the key. */
export async function createGithubApp(
  { id, privateKey }: GithubAppCredentials,
  options: GithubRequestOptions,
): Promise<GithubApp> {
  const callGithub = createCallGithub(options);
  const key = await importKey(privateKey);

  /** GitHub rejects a JWT from the future, and one that is valid for more than 10 minutes. */
  const authorize = async () => {
    const now = Math.floor(options.now() / 1000);
    const jwt = new SignJWT({ iss: id, iat: now - DRIFT_S, exp: now + VALID_S });
    return `Bearer ${await jwt.setProtectedHeader({ alg: "RS256", typ: "JWT" }).sign(key)}`;
  };

  const call: CallAsApp = async (request) =>
    callGithub({ ...request, authorization: await authorize() });

  return {
    getApp: () => call({ path: "/app", schema: appSchema }),
    getWebhookUrl: () => call({ path: "/app/hook/config", schema: hookSchema }),
    getInstallation: (installation) =>
      call({
        path: `/app/installations/${encodeURIComponent(installation)}`,
        schema: installationSchema,
      }),
    call,
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
