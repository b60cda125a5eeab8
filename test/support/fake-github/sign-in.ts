/** The web flow by which a person signs in with the App: codes that work once, and expiring tokens. */
import { createHash, randomBytes } from "node:crypto";
import type { Context, Hono } from "hono";
import type { Accounts } from "./accounts.ts";
import type { AppKey } from "./app-key.ts";

export interface SignIn {
  /** Who sits at the browser: the authorization page answers for this user at once. */
  setBrowserUser(login: string | undefined): void;
  /** The callback URLs of the App. Empty: any URL. */
  callbackUrls: string[];
  /** Lets the access tokens of a user expire; the refresh tokens still work. */
  expireTokens(login: string): void;
  /** Ends the authorization of a user: neither kind of token works. */
  revokeTokens(login: string): void;
  /** The user of an `authorization` header. */
  userOf(authorization: string | undefined): string | undefined;
  /** A new pair of tokens, as the web flow returns them. */
  issueTokens(login: string): Tokens;
  codes: Map<string, Code>;
  refresh(token: string): Tokens | undefined;
  /** The user at the browser. */
  browserUser(): string | undefined;
}

interface Tokens {
  access_token: string;
  expires_in: number;
  refresh_token: string;
  refresh_token_expires_in: number;
  token_type: "bearer";
  scope: "";
}

interface Code {
  login: string;
  redirectUri: string | undefined;
  challenge: string | undefined;
}

const random = (prefix: string) => `${prefix}${randomBytes(18).toString("hex")}`;

export function createSignIn(accounts: Accounts): SignIn {
  /** By account id, since logins change. */
  const pairs = new Set<{ user: number; access: string; refresh: string; isExpired: boolean }>();
  const idOf = (login: string) => accounts.findAccount(login)?.id;
  let browserUser: string | undefined;

  const issue = (user: number): Tokens => {
    const pair = { user, access: random("ghu_"), refresh: random("ghr_"), isExpired: false };
    pairs.add(pair);
    return {
      access_token: pair.access,
      expires_in: 28_800,
      refresh_token: pair.refresh,
      refresh_token_expires_in: 15_897_600,
      token_type: "bearer",
      scope: "",
    };
  };

  return {
    setBrowserUser(login) {
      browserUser = login;
    },
    browserUser: () => browserUser,
    callbackUrls: [],
    codes: new Map(),
    expireTokens(login) {
      for (const pair of pairs) if (pair.user === idOf(login)) pair.isExpired = true;
    },
    revokeTokens(login) {
      for (const pair of pairs) if (pair.user === idOf(login)) pairs.delete(pair);
    },
    userOf(authorization = "") {
      const token = authorization.replace(/^(Bearer|token) /i, "");
      const pair = [...pairs].find(({ access, isExpired }) => access === token && !isExpired);
      return pair && accounts.findAccountById(pair.user)?.login;
    },
    issueTokens(login) {
      const id = idOf(login);
      if (id === undefined) throw new Error(`the fake GitHub has no account ${login}`);
      return issue(id);
    },
    refresh(token) {
      const pair = [...pairs].find(({ refresh }) => refresh === token);
      if (!pair) return undefined;
      pairs.delete(pair);
      return issue(pair.user);
    },
  };
}

export function addSignInRoutes(
  routes: Hono,
  { app, signIn }: { app: AppKey; signIn: SignIn },
): void {
  routes.get("/login/oauth/authorize", (context) => {
    const query = context.req.query();
    if (query.client_id !== app.clientId) return context.text("Not Found", 404);
    const redirectUri = query.redirect_uri ?? signIn.callbackUrls[0] ?? "";
    const isKnown = signIn.callbackUrls.length === 0 || signIn.callbackUrls.includes(redirectUri);
    const target = URL.parse(isKnown ? redirectUri : (signIn.callbackUrls[0] ?? ""));
    if (!target) return context.text("The redirect_uri is not valid.", 400);
    const login = signIn.browserUser();
    const answer = !isKnown
      ? { error: "redirect_uri_mismatch" }
      : login === undefined
        ? {
            error: "access_denied",
            error_description: "The user has denied your application access.",
          }
        : { code: random("") };
    if ("code" in answer && login !== undefined)
      signIn.codes.set(answer.code, {
        login,
        redirectUri: query.redirect_uri,
        challenge: query.code_challenge_method === "S256" ? query.code_challenge : undefined,
      });
    for (const [name, value] of Object.entries({ ...answer, state: query.state }))
      if (value !== undefined) target.searchParams.set(name, value);
    return context.redirect(target.href);
  });

  routes.post("/login/oauth/access_token", async (context) => {
    const given = await readParameters(context);
    return answerInForm(context, redeem(given, { app, signIn }));
  });
}

function redeem(
  given: Record<string, string>,
  { app, signIn }: { app: AppKey; signIn: SignIn },
): object {
  if (given.client_id !== app.clientId || given.client_secret !== app.clientSecret)
    return fail(
      "incorrect_client_credentials",
      "The client_id and/or client_secret passed are incorrect.",
    );
  if (given.grant_type === "refresh_token")
    return (
      signIn.refresh(given.refresh_token ?? "") ??
      fail("bad_refresh_token", "The refresh token passed is incorrect or expired.")
    );
  const code = signIn.codes.get(given.code ?? "");
  signIn.codes.delete(given.code ?? "");
  const verifier = createHash("sha256")
    .update(given.code_verifier ?? "")
    .digest("base64url");
  if (!code || (code.challenge !== undefined && code.challenge !== verifier))
    return fail("bad_verification_code", "The code passed is incorrect or expired.");
  if (given.redirect_uri !== undefined && given.redirect_uri !== code.redirectUri)
    return fail(
      "redirect_uri_mismatch",
      "The redirect_uri MUST match the registered callback URL for this application.",
    );
  return signIn.issueTokens(code.login);
}

const fail = (error: string, error_description: string) => ({
  error,
  error_description,
  error_uri: "https://docs.github.invalid/apps",
});

/** GitHub takes parameters as a form, as JSON or in the query. */
async function readParameters({ req }: Context): Promise<Record<string, string>> {
  const text = await req.text();
  const body: Record<string, string> = (req.header("content-type") ?? "").includes("json")
    ? JSON.parse(text)
    : Object.fromEntries(new URLSearchParams(text));
  return { ...req.query(), ...body };
}

/** Also errors have the status 200. Without `accept: application/json`, GitHub answers with a form. */
function answerInForm(context: Context, answer: object): Response {
  if ((context.req.header("accept") ?? "").includes("json")) return context.json(answer);
  const form = new URLSearchParams(
    Object.entries(answer).map(([key, value]): [string, string] => [key, String(value)]),
  );
  return context.body(form.toString(), 200, {
    "content-type": "application/x-www-form-urlencoded",
  });
}
