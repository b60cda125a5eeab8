/**
 * A filter takes longer than the hub lets senders wait. The webhooks are acknowledged, other triggers fire
 * immediately, and the triggers with the filter fire once, although the hub is killed.
 */
import { describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { deliver, SECRET } from "../support/deliver.ts";
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
          GITHUB_WEBHOOK_SECRET: SECRET,
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

it("an app's slow filters and steps do not delay the filters and steps of another app", async () => {
  const hub = await startHubProcess({
    data: tempFolder(),
    env: { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET },
  });
  onTestFinished(async () => void (await hub.stop()));
  const maker = createFlowMaker(hub.url, TOKEN);
  await maker.app("slow");
  await maker.app("fast");
  const publish = async (slug: string, type: string, filter: string, expression: string) => {
    const on = { id: "on", type: "Event", name: "On" };
    const step = { id: "step", type: "Transform", name: "Step", parameters: { expression } };
    const parameters = { source: "github", type, filter };
    const edges: [string, string][] = [["on", "step"]];
    return (await maker.flow(slug, `${slug} ${type}`, [{ ...on, parameters }, step], edges)).id;
  };
  const takesLong = "$sum([1..100000].($ * 2))";
  const fastFilter = "$contains(data.repository.full_name, /octo/)";
  const slow = [
    await publish("slow", "push", `${takesLong} > 0`, "1"),
    await publish("slow", "issues", fastFilter, takesLong),
  ];
  const fast = await publish("fast", "label", fastFilter, "1 + 1");
  const countSucceeded = async (id: string) =>
    (
      await maker.call<{ items: object[] }>(
        "GET",
        `/api/runs?flow=${id}&status=succeeded&limit=100`,
      )
    ).items.length;
  const webhooks = 60;
  for (const type of ["push", "issues"])
    await Promise.all(Array.from({ length: webhooks }, () => deliver(hub.url, { type })));
  await deliver(hub.url, { type: "label" });
  await vi.waitFor(async () => expect(await countSucceeded(fast)).toBe(1), WAIT);
  // In order of arrival, all of the slow ones would have come first.
  for (const id of slow) expect(await countSucceeded(id)).toBeLessThan(webhooks / 2);
});
