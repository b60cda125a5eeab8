/**
 * Signs people in with GitHub: the authorization code flow of the GitHub App with PKCE, the tokens of a
 * person, and the person's profile and memberships.
 */
import { z } from "zod";
import {
  createCallGithub,
  type GithubAnswer,
  type GithubRequestOptions,
} from "../github/github-request.ts";
import { membershipsOf } from "./memberships.ts";
import type { Person } from "./model.ts";

export interface UserTokens {
  access: string;
  /** Null if the App has tokens that do not expire. */
  refresh: string | null;
  expiresAt: number | null;
}

export type GithubPerson = Pick<Person, "id" | "login" | "name" | "avatar" | "memberships">;

/**
 * `rejected`: GitHub does not accept the code or the token. `unavailable`: GitHub may accept it
 * later.
 */
export type UserAnswer<Value> =
  | { outcome: "ok"; value: Value }
  | { outcome: "rejected" | "unavailable"; message: string };

export interface GithubUsers {
  authorizeUrl(request: { state: string; challenge: string; redirectUri: string }): string;
  exchangeCode(
    code: string,
    verifier: string,
    redirectUri: string,
  ): Promise<UserAnswer<UserTokens>>;
  refreshTokens(refresh: string): Promise<UserAnswer<UserTokens>>;
  identify(access: string): Promise<UserAnswer<GithubPerson>>;
}

export interface GithubUsersOptions extends GithubRequestOptions {
  /** The URL of GitHub's website, not of its API. */
  url: string;
  client: { id: string; secret: string };
}

const PAGE_SIZE = 100;
const MAX_PAGES = 20;
const TIMEOUT_MS = 10_000;

const userSchema = z.object({
  id: z.string(),
  login: z.string(),
  name: z.string().nullish(),
  avatar_url: z.string().nullish(),
});
const installationsSchema = z
  .object({ installations: z.array(z.object({ account: z.object({ id: z.string() }) })) })
  .transform(({ installations }) => installations.map(({ account }) => account.id));
const organizationsSchema = z.array(
  z
    .object({ state: z.string(), role: z.string(), organization: z.object({ id: z.string() }) })
    .transform(({ state, role, organization }) => ({ id: organization.id, state, role })),
);
const tokensSchema = z.object({
  access_token: z.string().min(1),
  expires_in: z.number().nullish(),
  refresh_token: z.string().nullish(),
});
/** GitHub reports errors of the token endpoint with the status 200. */
const errorSchema = z.object({ error: z.string(), error_description: z.string().optional() });

export function createGithubUsers(options: GithubUsersOptions): GithubUsers {
  const { url, client, fetch, now } = options;
  const call = createCallGithub(options);

  async function requestTokens(grant: Record<string, string>): Promise<UserAnswer<UserTokens>> {
    try {
      const response = await fetch(`${url}/login/oauth/access_token`, {
        method: "POST",
        headers: { accept: "application/json", "user-agent": "signalbox" },
        body: new URLSearchParams({ client_id: client.id, client_secret: client.secret, ...grant }),
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const body: unknown = await response.json();
      const failed = errorSchema.safeParse(body);
      if (failed.success) {
        const { error, error_description: message = error } = failed.data;
        return { outcome: REJECTIONS.includes(error) ? "rejected" : "unavailable", message };
      }
      const { access_token, expires_in, refresh_token } = tokensSchema.parse(body);
      const expiresAt = expires_in ? now() + expires_in * 1000 : null;
      return {
        outcome: "ok",
        value: { access: access_token, refresh: refresh_token ?? null, expiresAt },
      };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { outcome: "unavailable", message: `${url} does not respond: ${reason}` };
    }
  }

  /** Reads all pages of a list. */
  async function list<Item>(
    access: string,
    path: string,
    schema: z.ZodType<Item[]>,
  ): Promise<UserAnswer<Item[]>> {
    const items: Item[] = [];
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const query = `${path.includes("?") ? "&" : "?"}per_page=${PAGE_SIZE}&page=${page}`;
      const authorization = `Bearer ${access}`;
      const answer = toUserAnswer(await call({ path: path + query, authorization, schema }));
      if (answer.outcome !== "ok") return answer;
      items.push(...answer.value);
      if (answer.value.length < PAGE_SIZE) break;
    }
    return { outcome: "ok", value: items };
  }

  return {
    authorizeUrl({ state, challenge, redirectUri }) {
      const query = new URLSearchParams({
        client_id: client.id,
        redirect_uri: redirectUri,
        state,
        code_challenge: challenge,
        code_challenge_method: "S256",
      });
      return `${url}/login/oauth/authorize?${query}`;
    },
    exchangeCode: (code, verifier, redirectUri) =>
      requestTokens({ code, code_verifier: verifier, redirect_uri: redirectUri }),
    refreshTokens: (refresh) =>
      requestTokens({ grant_type: "refresh_token", refresh_token: refresh }),

    async identify(access) {
      const [user, installedIn, organizations] = await Promise.all([
        call({ path: "/user", authorization: `Bearer ${access}`, schema: userSchema }).then(
          toUserAnswer,
        ),
        list(access, "/user/installations", installationsSchema),
        list(access, "/user/memberships/orgs?state=active", organizationsSchema),
      ]);
      if (user.outcome !== "ok") return user;
      if (installedIn.outcome !== "ok") return installedIn;
      if (organizations.outcome !== "ok") return organizations;
      const { id, login, name = null, avatar_url: avatar = null } = user.value;
      const memberships = membershipsOf({
        id,
        installedIn: installedIn.value,
        organizations: organizations.value,
      });
      return { outcome: "ok", value: { id: `github:${id}`, login, name, avatar, memberships } };
    },
  };
}

/**
 * The errors that require a new sign-in. Any other, such as a wrong client secret, is not the
 * person's fault.
 */
const REJECTIONS = ["bad_verification_code", "bad_refresh_token", "unauthorized"];

function toUserAnswer<Value>(answer: GithubAnswer<Value>): UserAnswer<Value> {
  switch (answer.outcome) {
    case "ok":
      return { outcome: "ok", value: answer.value };
    case "not_found":
      return { outcome: "unavailable", message: "GitHub returned 404" };
    case "rate_limited":
      return { outcome: "unavailable", message: answer.message };
    case "failed":
      return {
        outcome: answer.status === 401 ? "rejected" : "unavailable",
        message: answer.message,
      };
  }
}
