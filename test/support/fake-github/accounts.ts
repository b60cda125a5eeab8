/** The users, the organizations with their members, and the installations of the GitHub App. */
import { randomBytes } from "node:crypto";
import type { Context, Hono } from "hono";
import type { AppKey } from "./app-key.ts";
import type { SignIn } from "./sign-in.ts";

interface Account {
  id: number;
  login: string;
  type: "User" | "Organization";
  name: string;
}

interface Membership {
  role: "admin" | "member";
  state: "active" | "pending";
}

interface Installation {
  id: number;
  account: Account;
  suspendedAt: string | null;
  /** The logins of users who can read a repository of the account without being members. */
  collaborators: Set<string>;
}

export interface Accounts {
  addUser(login: string, properties?: Partial<Pick<Account, "id" | "name">>): Account;
  addOrganization(login: string, properties?: Partial<Pick<Account, "id" | "name">>): Account;
  /** The login of an account can change; its id cannot. */
  renameAccount(login: string, newLogin: string): void;
  /** Adds a member, or changes its role or state. */
  setMember(organization: string, user: string, properties?: Partial<Membership>): void;
  removeMember(organization: string, user: string): void;
  /** Installs the App on an account. */
  install(login: string, properties?: { id?: number }): Installation;
  suspendInstallation(id: number, isSuspended?: boolean): void;
  uninstall(id: number): void;
  /** Lets a user read a repository of an installation, without membership. */
  addCollaborator(installation: number, user: string): void;
  findAccount(login: string): Account | undefined;
  findAccountById(id: number): Account | undefined;
  findMembership(organization: string, user: string): Membership | undefined;
  listOrganizations(user: string): { organization: Account; membership: Membership }[];
  installations: Map<number, Installation>;
}

export function createAccounts(): Accounts {
  const accounts: Account[] = [];
  /** By the ids of the organization and the user: see `membershipKey`. */
  const members = new Map<string, Membership>();
  const installations = new Map<number, Installation>();
  let nextId = 1001;

  const add = (login: string, type: Account["type"], properties: Partial<Account> = {}) => {
    const account = { id: nextId++, login, type, name: login, ...properties };
    accounts.push(account);
    return account;
  };
  const findAccount = (login: string) =>
    accounts.find((account) => account.login.toLowerCase() === login.toLowerCase());
  const getAccount = (login: string): Account => {
    const account = findAccount(login);
    if (!account) throw new Error(`the fake GitHub has no account ${login}`);
    return account;
  };
  const getInstallation = (id: number): Installation => {
    const installation = installations.get(id);
    if (!installation) throw new Error(`the fake GitHub has no installation ${id}`);
    return installation;
  };
  const membershipKey = (organization: string, user: string) =>
    `${getAccount(organization).id}/${getAccount(user).id}`;

  return {
    addUser: (login, properties) => add(login, "User", properties),
    addOrganization: (login, properties) => add(login, "Organization", properties),
    renameAccount(login, newLogin) {
      getAccount(login).login = newLogin;
    },
    setMember(organization, user, properties) {
      members.set(membershipKey(organization, user), {
        role: "member",
        state: "active",
        ...properties,
      });
    },
    removeMember(organization, user) {
      members.delete(membershipKey(organization, user));
    },
    install(login, { id = nextId++ } = {}) {
      const account = getAccount(login);
      const installation = { id, account, suspendedAt: null, collaborators: new Set<string>() };
      installations.set(id, installation);
      return installation;
    },
    suspendInstallation(id, isSuspended = true) {
      getInstallation(id).suspendedAt = isSuspended ? new Date().toISOString() : null;
    },
    uninstall: (id) => void installations.delete(id),
    addCollaborator: (id, user) =>
      void getInstallation(id).collaborators.add(getAccount(user).login),
    findAccount,
    findAccountById: (id) => accounts.find((account) => account.id === id),
    findMembership: (organization, user) =>
      findAccount(organization) &&
      findAccount(user) &&
      members.get(membershipKey(organization, user)),
    listOrganizations: (user) =>
      accounts.flatMap((organization) => {
        const membership = members.get(`${organization.id}/${getAccount(user).id}`);
        return membership ? [{ organization, membership }] : [];
      }),
    installations,
  };
}

interface AccountRoutes {
  app: AppKey;
  accounts: Accounts;
  signIn: SignIn;
}

export function addAccountRoutes(api: Hono, { app, accounts, signIn }: AccountRoutes): void {
  const { installations, findAccount, findMembership, listOrganizations } = accounts;
  /** The installation of each token of `POST /app/installations/:id/access_tokens`. */
  const installationTokens = new Map<string, number>();
  const notFound = ({ json }: Context) => json({ message: "Not Found", status: "404" }, 404);

  const asApp =
    (handle: (context: Context) => Response) =>
    (context: Context): Response =>
      app.reject(context) ?? handle(context);
  const asUser =
    (handle: (context: Context, user: Account) => Response) =>
    (context: Context): Response => {
      const user = findAccount(signIn.userOf(context.req.header("authorization")) ?? "");
      return user
        ? handle(context, user)
        : context.json({ message: "Bad credentials", status: "401" }, 401);
    };
  const findInstallation = (context: Context) => installations.get(Number(context.req.param("id")));
  const isReadable = ({ account, collaborators }: Installation, user: Account) =>
    account.id === user.id ||
    collaborators.has(user.login) ||
    findMembership(account.login, user.login)?.state === "active";

  api.get(
    "/app",
    asApp(({ json }) => json({ id: Number(app.id), slug: app.slug, name: "Test" })),
  );
  api.get(
    "/app/installations",
    asApp((context) => respondWithPage(context, [...installations.values()].map(showInstallation))),
  );
  api.get(
    "/app/installations/:id",
    asApp((context) => {
      const installation = findInstallation(context);
      return installation ? context.json(showInstallation(installation)) : notFound(context);
    }),
  );
  api.post(
    "/app/installations/:id/access_tokens",
    asApp((context) => {
      const installation = findInstallation(context);
      if (!installation) return notFound(context);
      if (installation.suspendedAt !== null)
        return context.json({ message: "This installation has been suspended" }, 403);
      const token = `ghs_${randomBytes(18).toString("hex")}`;
      installationTokens.set(token, installation.id);
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      return context.json({ token, expires_at, permissions: { members: "read" } }, 201);
    }),
  );

  api.get(
    "/user",
    asUser(({ json }, user) => json(showAccount(user))),
  );
  api.get(
    "/user/orgs",
    asUser((context, user) =>
      respondWithPage(
        context,
        listOrganizations(user.login)
          .filter(({ membership }) => membership.state === "active")
          .map(({ organization }) => showAccount(organization)),
      ),
    ),
  );
  api.get(
    "/user/memberships/orgs",
    asUser((context, user) => {
      const state = context.req.query("state");
      const list = listOrganizations(user.login)
        .filter(({ membership }) => state === undefined || membership.state === state)
        .map(({ organization, membership }) => showMembership(organization, user, membership));
      return respondWithPage(context, list);
    }),
  );
  api.get(
    "/user/memberships/orgs/:org",
    asUser((context, user) => {
      const organization = findAccount(context.req.param("org") ?? "");
      const membership = organization && findMembership(organization.login, user.login);
      return organization && membership
        ? context.json(showMembership(organization, user, membership))
        : notFound(context);
    }),
  );
  api.get(
    "/user/installations",
    asUser((context, user) => {
      const list = [...installations.values()].filter((installation) =>
        isReadable(installation, user),
      );
      return respondWithPage(context, list.map(showInstallation), (items) => ({
        total_count: list.length,
        installations: items,
      }));
    }),
  );
  api.get("/orgs/:org/memberships/:user", (context) => {
    const { org = "", user: login = "" } = context.req.param();
    const authorization = context.req.header("authorization");
    const installation = installations.get(
      installationTokens.get(authorization?.replace(/^(Bearer|token) /i, "") ?? "") ?? 0,
    );
    const caller = signIn.userOf(authorization);
    if (!installation && caller === undefined)
      return context.json({ message: "Bad credentials", status: "401" }, 401);
    const organization = findAccount(org);
    const user = findAccount(login);
    const canRead =
      organization &&
      (installation
        ? installation.account.id === organization.id && installation.suspendedAt === null
        : findMembership(org, caller ?? "")?.state === "active");
    if (!canRead) return context.json({ message: "Resource not accessible by integration" }, 403);
    const membership = user && findMembership(org, login);
    return user && membership
      ? context.json(showMembership(organization, user, membership))
      : notFound(context);
  });
}

const showAccount = ({ id, login, type, name }: Account) => ({
  login,
  id,
  node_id: `N_${id}`,
  avatar_url: `https://avatars.invalid/u/${id}?v=4`,
  html_url: `https://github.invalid/${login}`,
  type,
  name,
  site_admin: false,
});

const showInstallation = ({ id, account, suspendedAt }: Installation) => ({
  id,
  account: showAccount(account),
  target_id: account.id,
  target_type: account.type,
  repository_selection: "all",
  permissions: { members: "read", metadata: "read" },
  events: ["issues", "push"],
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
  suspended_at: suspendedAt,
});

const showMembership = (organization: Account, user: Account, { role, state }: Membership) => ({
  state,
  role,
  organization: showAccount(organization),
  user: showAccount(user),
});

/** Responds with the page of a list that the parameters `page` and `per_page` select, and GitHub's Link header. */
function respondWithPage<Item>(
  { req, json }: Context,
  items: Item[],
  wrap: (items: Item[]) => object = (list) => list,
): Response {
  const size = Math.min(100, Number(req.query("per_page") ?? 30));
  const number = Number(req.query("page") ?? 1);
  const next = new URL(req.url);
  next.searchParams.set("page", String(number + 1));
  const headers: Record<string, string> =
    number * size < items.length ? { link: `<${next}>; rel="next"` } : {};
  return json(wrap(items.slice((number - 1) * size, number * size)), { headers });
}
