import { expect, vi } from "vitest";
import { START } from "../../../events/store/contract/sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { NewTrigger } from "../../model.ts";
import type { NewRun } from "../../runs/model.ts";
import { sampleRun } from "../../runs/store/contract/run-sample.ts";
import type { DueSchedule, PlanFiring } from "../../schedule-model.ts";
import { intents, makeFlow, publish } from "./flow-sample.ts";

const MINUTE = 60_000;

export const scheduleTrigger = (overrides: Partial<NewTrigger> = {}): NewTrigger => ({
  node_id: "tick",
  kind: "schedule",
  tool_name: null,
  source: null,
  type: null,
  active: true,
  config: { cron: "* * * * *" },
  schedule: { cron: "* * * * *", time_zone: "UTC", next_at: START + MINUTE },
  ...overrides,
});

/** Publishes a flow with these schedules. */
export async function publishSchedules(store: Store, triggers: NewTrigger[], owner = {}) {
  return publish(store, await makeFlow(store, intents(), owner), { triggers });
}

/** Returns the run of a tick. */
const runOfTick = ({ trigger, next_at }: DueSchedule, now: number): NewRun =>
  sampleRun({
    tenant: trigger.tenant,
    app: trigger.app,
    flow_id: trigger.flow_id,
    version: trigger.version,
    trigger_node: trigger.node_id,
    cause: "schedule",
    key: `schedule:${trigger.flow_id}:${trigger.node_id}:${next_at}`,
    input: { tick: next_at },
    at: now,
    due_at: now,
  });

/** Plans a run for each tick. The next tick is one minute later. */
const everyMinute =
  (now: number): PlanFiring =>
  (due) => ({ run: runOfTick(due, now), next_at: due.next_at + MINUTE });

const nextTimes = async (store: Store, flow: { id: string; tenant: string }) =>
  (await store.listSchedules(flow.tenant, [flow.id])).map(({ node_id, next_at }) => [
    node_id,
    next_at,
  ]);

export function schedulesContract(it: It): void {
  it("are stored when their flow is published, if they are active", async ({ store, notices }) => {
    expect(await store.nextScheduleDue()).toBeNull();
    const later = { cron: "0 9 * * *", time_zone: "Europe/Berlin", next_at: START + 9 * MINUTE };
    const flow = await publishSchedules(store, [
      scheduleTrigger(),
      scheduleTrigger({ node_id: "later", schedule: later }),
      scheduleTrigger({ node_id: "paused", active: false }),
      scheduleTrigger({ node_id: "no schedule", schedule: undefined }),
    ]);
    expect(await store.nextScheduleDue()).toBe(START + MINUTE);
    expect(await store.listSchedules("acme", [flow.id, "other"])).toEqual([
      { flow_id: flow.id, node_id: "later", ...later },
      { flow_id: flow.id, node_id: "tick", ...scheduleTrigger().schedule },
    ]);
    expect(await store.listSchedules("umbrella", [flow.id])).toEqual([]);
    expect(await store.listSchedules("acme", [])).toEqual([]);
    await vi.waitFor(
      async () =>
        expect((await notices()).filter(({ topic }) => topic === "schedules")).toEqual([
          { topic: "schedules", due: START + MINUTE },
        ]),
      60_000,
    );
  });

  it("keep their next time if neither the cron expression nor the time zone changes", async ({
    store,
  }) => {
    const flow = await publishSchedules(store, [
      scheduleTrigger({ node_id: "same" }),
      scheduleTrigger({ node_id: "cron" }),
      scheduleTrigger({ node_id: "zone" }),
      scheduleTrigger({ node_id: "paused" }),
      scheduleTrigger({ node_id: "removed" }),
    ]);
    const changed = { cron: "* * * * *", time_zone: "UTC", next_at: START + 5 * MINUTE };
    await publish(store, flow, {
      triggers: [
        scheduleTrigger({ node_id: "same", schedule: changed, config: { misfire: "skip" } }),
        scheduleTrigger({ node_id: "cron", schedule: { ...changed, cron: "*/5 * * * *" } }),
        scheduleTrigger({ node_id: "zone", schedule: { ...changed, time_zone: "Asia/Tokyo" } }),
        scheduleTrigger({ node_id: "paused", schedule: changed, active: false }),
      ],
    });
    expect(await nextTimes(store, flow)).toEqual([
      ["cron", START + 5 * MINUTE],
      ["same", START + MINUTE],
      ["zone", START + 5 * MINUTE],
    ]);
    expect((await store.getTrigger("acme", flow.id, "same"))?.config).toEqual({ misfire: "skip" });
    await publish(store, flow, {
      triggers: [scheduleTrigger({ node_id: "paused", schedule: changed })],
    });
    expect(await nextTimes(store, flow)).toEqual([["paused", START + 5 * MINUTE]]);
  });

  it("start again with the next publication if an error has stopped them", async ({ store }) => {
    const flow = await publishSchedules(store, [scheduleTrigger()]);
    await store.fireSchedules(START + MINUTE, 10, () => ({ run: undefined, next_at: null }));
    expect(await nextTimes(store, flow)).toEqual([["tick", null]]);
    const schedule = { cron: "* * * * *", time_zone: "UTC", next_at: START + 2 * MINUTE };
    await publish(store, flow, { triggers: [scheduleTrigger({ schedule })] });
    expect(await nextTimes(store, flow)).toEqual([["tick", START + 2 * MINUTE]]);
  });

  it("follow a rollback, and end with their flow or app", async ({ store }) => {
    const flow = await publishSchedules(store, [scheduleTrigger()]);
    await publish(store, flow, { triggers: [] });
    expect(await nextTimes(store, flow)).toEqual([]);
    await store.rollBackFlow(
      flow,
      1,
      START,
      (graph) => () => ({ name: "A", description: "", graph, toolNames: [] }),
      ({ graph }) => ({
        graph,
        triggers: [scheduleTrigger()],
        note: "",
        by: "",
        at: START,
        aliasUntil: START,
      }),
    );
    expect(await nextTimes(store, flow)).toEqual([["tick", START + MINUTE]]);
    await store.deleteFlow(flow, START);
    expect(await nextTimes(store, flow)).toEqual([]);

    const ofDeletedApp = await publishSchedules(store, [scheduleTrigger()], { app: "shop" });
    const ofOtherApp = await publishSchedules(store, [scheduleTrigger()], { app: "desk" });
    await store.deleteApp("acme", "shop", START);
    expect(await nextTimes(store, ofDeletedApp)).toEqual([]);
    expect(await nextTimes(store, ofOtherApp)).toEqual([["tick", START + MINUTE]]);
  });

  it("fire when they are due, and store the run and the next time together", async ({ store }) => {
    const flow = await publishSchedules(store, [scheduleTrigger()]);
    const early = START + MINUTE - 1;
    expect(await store.fireSchedules(early, 10, everyMinute(early))).toBe(0);
    const now = START + MINUTE;
    const planned: DueSchedule[] = [];
    const fired = await store.fireSchedules(now, 10, (due) => {
      planned.push(due);
      return everyMinute(now)(due);
    });
    expect(fired).toBe(1);
    expect(planned).toEqual([
      { trigger: await store.getTrigger("acme", flow.id, "tick"), next_at: now },
    ]);
    expect(await store.nextScheduleDue()).toBe(now + MINUTE);
    expect(await store.fireSchedules(now, 10, everyMinute(now))).toBe(0);
    const [run, ...others] = await store.listRuns({ tenant: "acme", limit: 10 });
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      flow_id: flow.id,
      version: 1,
      trigger_node: "tick",
      cause: "schedule",
      status: "queued",
      input: { tick: now },
    });
    expect(await store.nextDue()).toBe(now);
  });

  it("use the newest version of their flow", async ({ store }) => {
    const flow = await publishSchedules(store, [scheduleTrigger()]);
    await publish(store, flow, { triggers: [scheduleTrigger({ config: { new: true } })] });
    const now = START + MINUTE;
    await store.fireSchedules(now, 10, (due) => {
      expect(due.trigger).toMatchObject({ version: 2, config: { new: true } });
      return everyMinute(now)(due);
    });
    expect(await store.listRuns({ tenant: "acme", limit: 10 })).toMatchObject([{ version: 2 }]);
  });

  it("can skip a tick, and stop", async ({ store }) => {
    await publishSchedules(store, [scheduleTrigger()]);
    const now = START + MINUTE;
    await store.fireSchedules(now, 10, () => ({ run: undefined, next_at: now + 5 * MINUTE }));
    expect(await store.nextScheduleDue()).toBe(now + 5 * MINUTE);
    const then = now + 5 * MINUTE;
    await store.fireSchedules(then, 10, () => ({ run: undefined, next_at: null }));
    expect(await store.nextScheduleDue()).toBeNull();
    expect(await store.fireSchedules(then + MINUTE, 10, everyMinute(then))).toBe(0);
    expect(await store.listRuns({ tenant: "acme", limit: 10 })).toEqual([]);
  });

  it("do not run a tick twice, even if their next time is set back", async ({ store }) => {
    const now = START + MINUTE;
    const flow = await publishSchedules(store, [scheduleTrigger()]);
    await store.fireSchedules(now, 10, everyMinute(now));
    // A replica whose clock is behind removes the schedule and adds it again, with an earlier time.
    await publish(store, flow, { triggers: [] });
    await publish(store, flow, { triggers: [scheduleTrigger()] });
    expect(await store.fireSchedules(now, 10, everyMinute(now))).toBe(1);
    expect(await store.listRuns({ tenant: "acme", limit: 10 })).toHaveLength(1);
    expect(await store.nextScheduleDue()).toBe(now + MINUTE);
  });

  it("fire in batches, the oldest first, for all tenants", async ({ store }) => {
    for (const tenant of ["acme", "umbrella"])
      await publishSchedules(
        store,
        Array.from({ length: 5 }, (_, index) =>
          scheduleTrigger({
            node_id: `tick ${index}`,
            schedule: { cron: "* * * * *", time_zone: "UTC", next_at: START + index },
          }),
        ),
        { tenant },
      );
    const now = START + 10;
    const order: number[] = [];
    const plan: PlanFiring = (due) => {
      order.push(due.next_at - START);
      return everyMinute(now)(due);
    };
    for (const count of [4, 4, 2, 0]) expect(await store.fireSchedules(now, 4, plan)).toBe(count);
    expect(order).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    for (const tenant of ["acme", "umbrella"])
      expect(await store.listRuns({ tenant, limit: 10 })).toHaveLength(5);
  });

  it("do not fire if the transaction fails", async ({ store }) => {
    await publishSchedules(store, [scheduleTrigger()]);
    const now = START + MINUTE;
    const failing = store.fireSchedules(now, 10, () => {
      throw new Error("no plan");
    });
    await expect(failing).rejects.toThrow("no plan");
    expect(await store.nextScheduleDue()).toBe(now);
    expect(await store.fireSchedules(now, 10, everyMinute(now))).toBe(1);
  });

  it("survive a restart", async ({ store, reopen }) => {
    await publishSchedules(store, [scheduleTrigger()]);
    const reopened = await reopen();
    expect(await reopened.nextScheduleDue()).toBe(START + MINUTE);
    const now = START + MINUTE;
    expect(await reopened.fireSchedules(now, 10, everyMinute(now))).toBe(1);
  });
}
