/**
 * GitHub on loopback, as far as the hub uses it: a GitHub App with its API, its webhooks and the
 * sign-in of people. It checks what GitHub checks (JWTs, codes, PKCE, tokens) and answers with
 * GitHub's messages. Tests change its state by the returned functions.
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
  /** For `GITHUB_URL`. */
  url: string;
  /** For `GITHUB_API_URL`; a path of `url`, as on GitHub Enterprise. */
  apiUrl: string;
  app: AppKey;
  /** The settings of a hub that uses this GitHub. */
  env: Record<string, string>;
  /** Each request to the API and the sign-in, such as "GET /app". */
  requests: string[];
  /** Answers the next requests to the API with a rate limit. */
  limitRate(times: number, answer?: { status?: 403 | 429; retryAfter?: number }): void;
  close(): Promise<void>;
}

export async function startFakeGithub(): Promise<FakeGithub> {
  const app = createAppKey();
  const accounts = createAccounts();
  const signIn = createSignIn(accounts);
  const hook = createAppHook();
  const requests: string[] = [];
  let limited = { times: 0, status: 403 as 403 | 429, retryAfter: 60 };

  const routes = new Hono();
  routes.use(async ({ req, json }, next) => {
    requests.push(`${req.method} ${req.path.replace(API, "")}`);
    if (!req.path.startsWith(API) || limited.times === 0) return next();
    limited.times -= 1;
    return json(
      { message: "You have exceeded a secondary rate limit." },
      { status: limited.status, headers: { "retry-after": String(limited.retryAfter) } },
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
    limitRate(times, answer) {
      limited = { status: 403, retryAfter: 60, ...answer, times };
    },
    async close() {
      await hook.settled();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const API = "/api/v3";
