/** The attacks of `soak`. Each runs in its own process (soak-attacker.ts). */
import { setTimeout as sleep } from "node:timers/promises";
import {
  floodWithPings,
  sendHalfBodies,
  sendUnknownTokens,
} from "../test/support/attacks/floods.ts";
import {
  type HostileRequest,
  mcpRequestsWithTooManyValues,
  requestsWithTooManyErrors,
  requestsWithTooManyNodes,
} from "../test/support/attacks/hostile-requests.ts";
import {
  conditionOnLongList,
  eventOf468Megabytes,
  runBeyondItsBudget,
  runOf58Megabytes,
  TRIGGER,
} from "../test/support/attacks/large-runs.ts";
import { openSession } from "../test/support/attacks/sessions.ts";
import {
  emptyObjects,
  flowWithLongGlob,
  listForLongGlob,
} from "../test/support/attacks/webhooks.ts";
import { type Delivery, deliver } from "../test/support/deliver.ts";
import { SECRET } from "./signed-webhooks.ts";

/** The hub, with the app, the tokens and the installation of the attacking tenant. */
export interface AttackTarget {
  url: string;
  app: string;
  admin: string;
  reader: string;
  /** Each token has its own limit of sessions, so the attack on sessions uses several tokens. */
  readers: string[];
  installation: number;
}

/** Sends the requests of one strike. Returns an outcome for each, such as the status of the response. */
type Strike = () => Promise<(string | number)[]>;

export interface Attack {
  /** The maximum. There are fewer strikes if they take longer, since they run one after another. */
  strikesPerMinute: number;
  /** Requests or connections of a strike. */
  requests: number;
  prepare(target: AttackTarget): Strike | Promise<Strike>;
}

/** The niceness of the attackers' processes; see soak-attacker.ts. */
export const NICENESS = 10;

const RESPONSE_MS = 60_000;
const RUN_MS = 120_000;

const call = (url: string, token: string, path: string, body?: string, headers = {}) =>
  fetch(url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body }),
    signal: AbortSignal.timeout(RESPONSE_MS),
  });

const sendAll =
  (requests: HostileRequest[], url: string, token: string): Strike =>
  async () => {
    const outcomes: (string | number)[] = [];
    for (const { path, body, headers, status, message } of requests) {
      const response = await call(url, token, path, body, headers);
      const isExpected = response.status === status && message.test(await response.text());
      outcomes.push(isExpected ? status : `${response.status} instead of ${status}`);
    }
    return outcomes;
  };

/** Sends a signed webhook; returns its status and, if it was rejected, the code of the problem. */
async function send(url: string, delivery: Delivery): Promise<string | number> {
  const response = await deliver(url, { ...delivery, secret: SECRET });
  const { code } = (await response.json()) as { code?: string };
  return code === undefined ? response.status : `${response.status} ${code}`;
}

async function publish({ url, admin, app }: AttackTarget, flow: object): Promise<string> {
  const created = await call(url, admin, `/api/apps/${app}/flows`, JSON.stringify(flow));
  const { id } = (await created.json()) as { id: string };
  const published = await call(url, admin, `/api/flows/${id}/publish`, "{}");
  if (!published.ok) throw new Error(`not published: ${await published.text()}`);
  return id;
}

/** Starts a run and waits for its end; returns its id and its status or error. */
async function run({ url, admin }: AttackTarget, flow: string) {
  const body = JSON.stringify({ trigger: TRIGGER });
  const started = await call(url, admin, `/api/flows/${flow}/runs`, body);
  if (!started.ok) return { id: "", outcome: started.status };
  const { id } = (await started.json()) as { id: string };
  const deadline = Date.now() + RUN_MS;
  while (Date.now() < deadline) {
    const response = await call(url, admin, `/api/runs/${id}`);
    const state = (await response.json()) as {
      finished_at: string | null;
      status: string;
      error: { code: string } | null;
    };
    if (response.ok && state.finished_at !== null)
      return { id, outcome: state.error?.code ?? state.status };
    await sleep(500);
  }
  return { id, outcome: `not finished in ${RUN_MS / 1000} s` };
}

const STREAMS = 10;
const SOCKETS = 10;
const HALF_BODIES = 40;
const SESSIONS = 50;
const TOKENS = 100;
const EMPTY_BODIES = 2;
const times = <Value>(count: number, make: (at: number) => Value) =>
  Array.from({ length: count }, (_, at) => make(at));

export const attacks: Record<string, Attack> = {
  "flows of 2.3 million nodes": {
    strikesPerMinute: 20,
    requests: 6,
    prepare: ({ url, admin, app }) => sendAll(requestsWithTooManyNodes(app), url, admin),
  },
  "4 MB of wrong scopes": {
    strikesPerMinute: 20,
    requests: 4,
    prepare: ({ url, admin }) => sendAll(requestsWithTooManyErrors(), url, admin),
  },
  "300,000 filter keys": {
    strikesPerMinute: 20,
    requests: 6,
    prepare: ({ url, reader }) => sendAll(mcpRequestsWithTooManyValues(), url, reader),
  },
  "runs with large values": {
    strikesPerMinute: 6,
    requests: 1,
    async prepare(target) {
      const flows: string[] = [];
      for (const flow of [runBeyondItsBudget(), eventOf468Megabytes(), conditionOnLongList()])
        flows.push(await publish(target, flow));
      let next = 0;
      return async () => {
        const { outcome } = await run(target, flows[next % flows.length] as string);
        next += 1;
        return [outcome];
      };
    },
  },
  "unread streams of a run of 58 MB": {
    strikesPerMinute: 10,
    requests: STREAMS,
    async prepare(target) {
      const { id } = await run(target, await publish(target, runOf58Megabytes()));
      return async () => {
        const abort = new AbortController();
        const headers = { authorization: `Bearer ${target.admin}` };
        const opened = await Promise.all(
          times(STREAMS, () =>
            fetch(`${target.url}/api/runs/${id}/stream`, { headers, signal: abort.signal }),
          ),
        );
        await sleep(3_000);
        abort.abort();
        return opened.map(({ status }) => status);
      };
    },
  },
  "1 MiB webhooks and a glob of 1,000": {
    strikesPerMinute: 12,
    requests: 1,
    async prepare(target) {
      await publish(target, flowWithLongGlob("github", "soak"));
      const body = listForLongGlob({ installation: { id: target.installation } });
      return async () => [await send(target.url, { body, type: "soak" })];
    },
  },
  "24 MB of {}": {
    strikesPerMinute: 10,
    requests: EMPTY_BODIES,
    prepare({ url }) {
      const body = Buffer.from(emptyObjects(24_000_000));
      return () => Promise.all(times(EMPTY_BODIES, () => send(url, { body })));
    },
  },
  "sockets that send pings": {
    strikesPerMinute: 15,
    requests: SOCKETS,
    prepare:
      ({ url, reader }) =>
      async () =>
        (await floodWithPings(url, reader, SOCKETS)).map((received) =>
          received === "" ? "refused" : `closed after ${received.slice(9, 12)}`,
        ),
  },
  "sessions by 17 tokens": {
    strikesPerMinute: 30,
    requests: SESSIONS,
    prepare({ url, readers }) {
      let next = 0;
      return () =>
        Promise.all(
          times(SESSIONS, async () => {
            next += 1;
            return (await openSession(url, readers[next % readers.length] as string)).status;
          }),
        );
    },
  },
  "half-sent bodies of 24 MB": {
    strikesPerMinute: 4,
    requests: HALF_BODIES,
    prepare:
      ({ url }) =>
      async () => {
        const bodies = await sendHalfBodies(url, HALF_BODIES);
        await sleep(5_000);
        bodies.close();
        const statuses = [...bodies.received().matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(
          ([, status]) => status as string,
        );
        return [...statuses, ...times(HALF_BODIES - statuses.length, () => "waiting")];
      },
  },
  "unknown tokens of 15 KB": {
    strikesPerMinute: 60,
    requests: TOKENS,
    prepare:
      ({ url }) =>
      () =>
        sendUnknownTokens(url, TOKENS),
  },
};

export const attackRequestsPerSecond: number =
  Object.values(attacks).reduce(
    (sum, { strikesPerMinute, requests }) => sum + strikesPerMinute * requests,
    0,
  ) / 60;
