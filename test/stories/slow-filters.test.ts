/**
 * A filter takes longer than the hub lets senders wait. The webhooks are acknowledged, other triggers fire
 * immediately, and the triggers with the filter fire once, although the hub is killed.
 */
import { describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { deliver } from "../support/deliver.ts";
import { createFlowMaker, returns } from "../support/flow-maker.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const TOKEN = "sbx_slow_filters_story_0123456789";
/** Takes some tenths of a second of CPU time; the limit is 1 s. */
const SLOW_FILTER = "$sum([1..200000].($ * 2)) > 0";
const WEBHOOKS = 12;

interface EventItem {
  id: string;
  outcome: string;
}

describe.each(["SQLite", "PostgreSQL"])("with a slow filter, on %s", (backend) => {
  it("no webhook waits for it, and no event is lost or matched twice if the hub is killed", async () => {
    const data = tempFolder();
    const databaseUrl =
      backend === "SQLite" ? undefined : await createDatabase(inject("postgresUrl"));
    const start = async () => {
      const hub = await startHubProcess({
        data,
        env: {
          SIGNALBOX_TOKEN: TOKEN,
          GITHUB_WEBHOOK_SECRET: "It's a Secret to Everybody",
          ...(databaseUrl && { DATABASE_URL: databaseUrl }),
        },
      });
      onTestFinished(async () => void (await hub.stop()));
      return { hub, ...createFlowMaker(hub.url, TOKEN) };
    };
    const first = await start();
    await first.app("filters");
    const publish = async (name: string, more: object) => {
      const event = {
        id: "on",
        type: "Event",
        name: "On",
        parameters: { source: "github", type: "issues", ...more },
      };
      const { id } = await first.flow(
        "filters",
        name,
        [event, returns("end", name)],
        [["on", "end"]],
      );
      return id;
    };
    const slow = await publish("Slow", { filter: SLOW_FILTER });
    const fast = await publish("Fast", {});

    const responses = await Promise.all(
      Array.from({ length: WEBHOOKS }, () => deliver(first.hub.url)),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(WEBHOOKS).fill(202));
    const listEvents = async ({ call }: typeof first) =>
      (await call<{ items: EventItem[] }>("GET", "/api/events?limit=100")).items;
    const listRuns = async ({ call }: typeof first, flow: string) =>
      (await call<{ items: { event_id: string }[] }>("GET", `/api/runs?flow=${flow}&limit=100`))
        .items;
    const [event] = await listEvents(first);
    const explanation = await first.call<{ items: { flow_id: string; decided: string }[] }>(
      "GET",
      `/api/events/${event?.id}/explain`,
    );
    expect(explanation.items).toContainEqual(
      expect.objectContaining({ flow_id: slow, decided: "pending" }),
    );
    expect(await listRuns(first, fast)).toHaveLength(WEBHOOKS);
    await first.hub.stop("SIGKILL");

    const second = await start();
    await vi.waitFor(async () => expect(await listRuns(second, slow)).toHaveLength(WEBHOOKS), WAIT);
    const events = (await listEvents(second)).map(({ id }) => id);
    expect((await listRuns(second, slow)).map(({ event_id }) => event_id).toSorted()).toEqual(
      events.toSorted(),
    );
    expect(await listRuns(second, fast)).toHaveLength(WEBHOOKS);
  });
});
