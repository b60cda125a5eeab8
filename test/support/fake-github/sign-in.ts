/** The OAuth web flow with which a person signs in: one-time codes, and tokens that expire. */
import { createHash, randomBytes } from "node:crypto";
import type { Context, Hono } from "hono";
import type { Accounts } from "./accounts.ts";
import type { AppKey } from "./app-key.ts";

export interface SignIn {
  /** Sets the user of the browser. The authorization page then consents at once; without a user, it denies access. */
  setBrowserUser(login: string | undefined): void;
  /** The callback URLs of the App. If the list is empty, any URL is allowed. */
  callbackUrls: string[];
  /** Expires the access tokens of a user. The refresh tokens remain valid. */
  expireTokens(login: string): void;
  /** Revokes all access tokens and refresh tokens of a user. */
  revokeTokens(login: string): void;
  /** Returns the login of the user whose valid access token is in an `authorization` header. */
  userOf(authorization: string | undefined): string | undefined;
  /** Issues a new pair of tokens, as the web flow does. */
  issueTokens(login: string): Tokens;
  codes: Map<string, Code>;
  refresh(token: string): Tokens | undefined;
  /** Returns the user that `setBrowserUser` has set. */
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
  /** `user` is an account id, because logins can change. */
  const tokenPairs = new Set<{
    user: number;
    access: string;
    refresh: string;
    isExpired: boolean;
  }>();
  const idOf = (login: string) => accounts.findAccount(login)?.id;
  let browserUser: string | undefined;

  const issue = (user: number): Tokens => {
    const pair = { user, access: random("ghu_"), refresh: random("ghr_"), isExpired: false };
    tokenPairs.add(pair);
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
      for (const pair of tokenPairs) if (pair.user === idOf(login)) pair.isExpired = true;
    },
    revokeTokens(login) {
      for (const pair of tokenPairs) if (pair.user === idOf(login)) tokenPairs.delete(pair);
    },
    userOf(authorization = "") {
      const token = authorization.replace(/^(Bearer|token) /i, "");
      const pair = [...tokenPairs].find(({ access, isExpired }) => access === token && !isExpired);
      return pair && accounts.findAccountById(pair.user)?.login;
    },
    issueTokens(login) {
      const id = idOf(login);
      if (id === undefined) throw new Error(`the fake GitHub has no account ${login}`);
      return issue(id);
    },
    refresh(token) {
      const pair = [...tokenPairs].find(({ refresh }) => refresh === token);
      if (!pair) return undefined;
      tokenPairs.delete(pair);
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
    const isAllowed = signIn.callbackUrls.length === 0 || signIn.callbackUrls.includes(redirectUri);
    const target = URL.parse(isAllowed ? redirectUri : (signIn.callbackUrls[0] ?? ""));
    if (!target) return context.text("The redirect_uri is not valid.", 400);
    const login = signIn.browserUser();
    const result = !isAllowed
      ? { error: "redirect_uri_mismatch" }
      : login === undefined
        ? {
            error: "access_denied",
            error_description: "The user has denied your application access.",
          }
        : { code: random("") };
    if ("code" in result && login !== undefined)
      signIn.codes.set(result.code, {
        login,
        redirectUri: query.redirect_uri,
        challenge: query.code_challenge_method === "S256" ? query.code_challenge : undefined,
      });
    for (const [name, value] of Object.entries({ ...result, state: query.state }))
      if (value !== undefined) target.searchParams.set(name, value);
    return context.redirect(target.href);
  });

  routes.post("/login/oauth/access_token", async (context) => {
    const parameters = await readParameters(context);
    return respond(context, redeem(parameters, { app, signIn }));
  });
}

function redeem(
  parameters: Record<string, string>,
  { app, signIn }: { app: AppKey; signIn: SignIn },
): object {
  if (parameters.client_id !== app.clientId || parameters.client_secret !== app.clientSecret)
    return errorResult(
      "incorrect_client_credentials",
      "The client_id and/or client_secret passed are incorrect.",
    );
  if (parameters.grant_type === "refresh_token")
    return (
      signIn.refresh(parameters.refresh_token ?? "") ??
      errorResult("bad_refresh_token", "The refresh token passed is incorrect or expired.")
    );
  const code = signIn.codes.get(parameters.code ?? "");
  signIn.codes.delete(parameters.code ?? "");
  const challenge = createHash("sha256")
    .update(parameters.code_verifier ?? "")
    .digest("base64url");
  if (!code || (code.challenge !== undefined && code.challenge !== challenge))
    return errorResult("bad_verification_code", "The code passed is incorrect or expired.");
  if (parameters.redirect_uri !== undefined && parameters.redirect_uri !== code.redirectUri)
    return errorResult(
      "redirect_uri_mismatch",
      "The redirect_uri MUST match the registered callback URL for this application.",
    );
  return signIn.issueTokens(code.login);
}

const errorResult = (error: string, error_description: string) => ({
  error,
  error_description,
  error_uri: "https://docs.github.invalid/apps",
});

/** Reads parameters from a form, from JSON or from the query, as GitHub does. */
async function readParameters({ req }: Context): Promise<Record<string, string>> {
  const text = await req.text();
  const body: Record<string, string> = (req.header("content-type") ?? "").includes("json")
    ? JSON.parse(text)
    : Object.fromEntries(new URLSearchParams(text));
  return { ...req.query(), ...body };
}

/** Like GitHub, responds with status 200 also to errors, and with a form unless the client accepts JSON. */
function respond(context: Context, result: object): Response {
  if ((context.req.header("accept") ?? "").includes("json")) return context.json(result);
  const form = new URLSearchParams(
    Object.entries(result).map(([key, value]): [string, string] => [key, String(value)]),
  );
  return context.body(form.toString(), 200, {
    "content-type": "application/x-www-form-urlencoded",
  });
}
