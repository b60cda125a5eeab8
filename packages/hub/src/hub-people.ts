/** Creates the services with which people sign in with GitHub. */
import type { HostPorts, HubSettings } from "./host-ports.ts";
import type { Seal } from "./kernel/lib/seal.ts";
import type { Store } from "./kernel/store/store.ts";
import { createGithubUsers, type GithubUsers } from "./people/github-users.ts";
import { createPeople, type People } from "./people/people.ts";

export interface HubPeopleOptions {
  store: Store;
  ports: HostPorts;
  settings: HubSettings;
  seal: Seal;
  onError: (error: unknown) => void;
}

export interface HubPeople {
  github: GithubUsers;
  people: People;
}

/** How long the last confirmed memberships are valid while GitHub is unavailable. */
const KEEP_MEMBERSHIPS_MS = 3_600_000;

/** Returns undefined if people cannot sign in. A hub with one tenant has only its operator. */
export function createHubPeople(options: HubPeopleOptions): HubPeople | undefined {
  const { store, ports, settings, seal, onError } = options;
  const { client, url, apiUrl } = settings.github;
  if (!client || settings.tenancy !== "github") return undefined;
  const { now, after } = ports.timers;
  const github = createGithubUsers({ url, apiUrl, client, fetch: ports.fetch, now });
  const people = createPeople({
    store,
    github,
    seal,
    now,
    after,
    recheckMs: settings.membershipRecheckMs,
    keepMs: KEEP_MEMBERSHIPS_MS,
    log: ports.log,
    onError,
  });
  return { github, people };
}
