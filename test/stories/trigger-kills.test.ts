/**
 * The hub or the server is killed at each point of the handshake, while triggers are added, paused,
 * edited and removed. Afterwards every subscription reaches its desired state, and events arrive.
 * packages/hub/src/connections/convergence.test.ts simulates crashes between operations of the store.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../support/temp-folder.ts";
import { MAX_WAIT_MS } from "../support/timeouts.ts";
import type { Switches, TriggerServerOptions } from "../support/trigger-server.ts";
import {
  type StoryTrigger,
  startTriggerStory,
  type TriggerStory,
} from "../support/trigger-story.ts";

const opened: StoryTrigger = { id: "opened", type: "issue.opened" };
const sibling: StoryTrigger = { id: "sibling", type: "issue.opened", params: { repo: "hub" } };
const closed: StoryTrigger = { id: "closed", type: "issue.closed" };

/** Changes of the flow, with the triggers that fire afterwards for the two event types. */
const changes: { triggers: StoryTrigger[]; opened: string[]; closed: string[] }[] = [
  { triggers: [opened, sibling, closed], opened: ["opened", "sibling"], closed: ["closed"] },
  {
    triggers: [opened, sibling, { ...closed, isActive: false }],
    opened: ["opened", "sibling"],
    closed: [],
  },
  {
    triggers: [{ ...opened, type: "issue.closed" }, sibling, closed],
    opened: ["sibling"],
    closed: ["opened", "closed"],
  },
  { triggers: [sibling], opened: ["sibling"], closed: [] },
];

/** Applies a change of the flow, and kills the hub or the server during it. */
type ChangeWithKill = (story: TriggerStory, change: () => Promise<void>) => Promise<void>;

/** The number in the data of the last event, by which its runs are found. */
let lastNumber = 0;

async function expectConverged(
  { waitForStates, server, expectFiredBy }: TriggerStory,
  { triggers, ...fired }: (typeof changes)[number],
  perSubscription: boolean,
): Promise<void> {
  await waitForStates(
    Object.fromEntries(
      triggers.map(({ id, isActive = true }) => [id, isActive ? "active" : "paused"]),
    ),
  );
  // A server with credentials per subscription still sends events of a removed subscription, until the
  // hub has disabled it there. The hub rejects these events with 410.
  const allowedStatuses = perSubscription ? [202, 410] : [202];
  for (const kind of ["opened", "closed"] as const) {
    const notify = async () => {
      lastNumber += 1;
      const sent = await server.notify(`issue.${kind}`, { repo: "hub", n: lastNumber });
      for (const { status } of sent) expect(allowedStatuses).toContain(status);
      return sent.filter(({ status }) => status === 202).length;
    };
    if (fired[kind].length === 0) await notify();
    else {
      // A server that has lost its subscriptions sends nothing until it is configured again.
      await expect
        .poll(notify, { timeout: MAX_WAIT_MS, interval: 50 })
        .toBe(perSubscription ? fired[kind].length : 1);
      await expectFiredBy(lastNumber, fired[kind]);
    }
  }
}

async function expectConvergence(
  server: TriggerServerOptions,
  changeWithKill: ChangeWithKill,
): Promise<void> {
  const story = await startTriggerStory({ server });
  for (const change of changes) {
    await changeWithKill(story, async () => void (await story.publish(change.triggers)));
    await expectConverged(story, change, server.perSubscription === true);
  }
}

const killHubAt =
  (hold: Switches["hold"]): ChangeWithKill =>
  async (story, change) => {
    const { server, connection } = story;
    await server.switch({ hold });
    await change();
    // A new credential makes the hub check the server again. The killed hub does not respond.
    if (hold === "check")
      story
        .call("PATCH", `/api/connections/${connection}`, {
          auth: { type: "bearer", token: crypto.randomUUID() },
        })
        .catch(() => {});
    await expect
      .poll(async () => (await server.state()).held, { timeout: MAX_WAIT_MS, interval: 20 })
      .toBeGreaterThan(0);
    await story.killHub();
    await server.switch({});
    await story.restartHub();
  };

describe("a killed hub", () => {
  it(
    "converges if it is killed before the first call, while it checks the server",
    () => expectConvergence({}, killHubAt("check")),
    240_000,
  );

  it(
    "converges if it is killed when the token is stored, before the server has it",
    () => expectConvergence({}, killHubAt("before")),
    240_000,
  );

  it(
    "converges if it is killed when the server has the token, before it is confirmed",
    () => expectConvergence({}, killHubAt("after")),
    240_000,
  );

  it(
    "converges if it is killed right after a change",
    () =>
      expectConvergence({}, async (story, change) => {
        await change();
        await story.killHub();
        await story.restartHub();
      }),
    240_000,
  );
});

describe("a hub killed with a server that has a credential per subscription", () => {
  const server = { perSubscription: true };

  it(
    "converges if it is killed when the token is stored, before the server has it",
    () => expectConvergence(server, killHubAt("before")),
    240_000,
  );

  it(
    "converges if it is killed when the server has the token, before it is confirmed",
    () => expectConvergence(server, killHubAt("after")),
    240_000,
  );
});

const killServerAt =
  (crash: Switches["crash"]): ChangeWithKill =>
  async ({ server }, change) => {
    await server.switch({ crash });
    await change();
    await server.ended();
    await server.restart();
  };

describe.each(["keeps", "loses"])("a killed server that %s its subscriptions", (kind) => {
  const options = () => (kind === "keeps" ? { file: join(tempFolder(), "state.json") } : {});

  it(
    "is configured again if it ends before it has stored the call",
    () => expectConvergence(options(), killServerAt("before")),
    240_000,
  );

  it(
    "is configured again if it ends after it has stored the call",
    () => expectConvergence(options(), killServerAt("after")),
    240_000,
  );

  it(
    "is configured again if it was down during the change",
    () =>
      expectConvergence(options(), async ({ server, connection, call }, change) => {
        await server.kill();
        await change();
        await expect
          .poll(
            async () =>
              (await call<{ status: string }>("GET", `/api/connections/${connection}`)).status,
            { timeout: MAX_WAIT_MS },
          )
          .toBe("failed");
        await server.restart();
      }),
    240_000,
  );
});
