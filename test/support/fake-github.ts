/**
 * A fake GitHub on the loopback address with what the hub uses: a GitHub App with its API and its webhooks,
 * and the sign-in of people. Like GitHub, it checks JWTs, codes, PKCE and tokens. Its messages are GitHub's.
 * Tests change its state with the functions of `FakeGithub`.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { type Accounts, addAccountRoutes, createAccounts } from "./fake-github/accounts.ts";
import { type AppHook, addHookRoutes, createAppHook } from "./fake-github/app-hook.ts";
import { type AppKey, createAppKey } from "./fake-github/app-key.ts";
import { addSignInRoutes, createSignIn, type SignIn } from "./fake-github/sign-in.ts";

export interface FakeGithub extends Accounts, SignIn, AppHook {
  /** The value of `GITHUB_URL`. */
  url: string;
  /** The value of `GITHUB_API_URL`: a path below `url`, as on GitHub Enterprise. */
  apiUrl: string;
  app: AppKey;
  /** The settings of a hub that uses this GitHub. */
  env: Record<string, string>;
  /** The method and path of each request, such as "GET /app". Paths of the API lack its prefix. */
  requests: string[];
  /** Rejects the next `times` requests to the API because of a rate limit. */
  limitRate(times: number, response?: { status?: 403 | 429; retryAfter?: number }): void;
  close(): Promise<void>;
}

export async function startFakeGithub(): Promise<FakeGithub> {
  const app = createAppKey();
  const accounts = createAccounts();
  const signIn = createSignIn(accounts);
  const hook = createAppHook();
  const requests: string[] = [];
  let rateLimit = { times: 0, status: 403 as 403 | 429, retryAfter: 60 };

  const routes = new Hono();
  routes.use(async ({ req, json }, next) => {
    requests.push(`${req.method} ${req.path.replace(API, "")}`);
    if (!req.path.startsWith(API) || rateLimit.times === 0) return next();
    rateLimit.times -= 1;
    return json(
      { message: "You have exceeded a secondary rate limit." },
      { status: rateLimit.status, headers: { "retry-after": String(rateLimit.retryAfter) } },
    );
  });
  const api = new Hono();
  addAccountRoutes(api, { app, accounts, signIn });
  addHookRoutes(api, { app, hook });
  api.get("/meta", ({ json }) => json({ hooks: ["127.0.0.0/8", "::1/128"] }));
  addSignInRoutes(routes, { app, signIn });
  routes.route(API, api);
  routes.notFound(({ json }) => json({ message: "Not Found", status: "404" }, 404));

  const server = createServer(getRequestListener(routes.fetch));
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...accounts,
    ...signIn,
    ...hook,
    url,
    apiUrl: `${url}${API}`,
    app,
    env: {
      GITHUB_URL: url,
      GITHUB_API_URL: `${url}${API}`,
      GITHUB_APP_ID: app.id,
      GITHUB_APP_PRIVATE_KEY: app.privateKey,
      GITHUB_APP_SLUG: app.slug,
      GITHUB_CLIENT_ID: app.clientId,
      GITHUB_CLIENT_SECRET: app.clientSecret,
      GITHUB_WEBHOOK_SECRET: hook.webhook.secret,
    },
    requests,
    limitRate(times, response) {
      rateLimit = { status: 403, retryAfter: 60, ...response, times };
    },
    async close() {
      await hook.settled();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const API = "/api/v3";
