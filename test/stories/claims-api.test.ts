/** Workers claim, renew, release and mark single events over the API. */
import { describe, expect, it } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";

const sendEvent = async ({ hub }: Api, body?: string): Promise<string> => {
  const response = await deliver(hub.url, body === undefined ? {} : { body });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
};
const listClaimable = async (api: Api, query = ""): Promise<string[]> =>
  (await api.expect(200, "GET", `/api/events?claimable=1&order=oldest${query}`)).json.items.map(
    ({ id }: { id: string }) => id,
  );

describe.each<Backend>(["SQLite", "PostgreSQL", "workerd"])(
  "claims of workers, on %s",
  (backend) => {
    it("are exclusive, can be renewed, and end with a release", async () => {
      const api = await startApi(backend);
      const id = await sendEvent(api);
      const pathTo = (action: string) => `/api/events/${id}/${action}`;
      expect(await listClaimable(api)).toEqual([id]);
      const claimed = await api.expect(200, "POST", pathTo("claim"), {
        worker: "one",
        lease_s: 60,
      });
      expect(claimed.json).toMatchObject({
        id,
        type: "issues",
        repo: "octo/town",
        number: 7,
        title: "It rains",
        attempts: 1,
        claimed_by: expect.stringMatching(/\/one$/),
        payload: { action: "opened" },
      });
      expect(await listClaimable(api)).toEqual([]);

      const conflict = await api.expect(409, "POST", pathTo("claim"), { worker: "two" });
      expect(conflict.json).toMatchObject({
        code: "changed",
        detail: expect.stringMatching(/^event_id: is claimed by .+\/one until 2\d{3}-/),
      });
      await api.expect(409, "POST", pathTo("claim"), {});
      const renewed = await api.expect(200, "POST", `${pathTo("claim")}?payload=0`, {
        worker: "one",
        lease_s: 600,
      });
      expect(renewed.json).toMatchObject({ attempts: 1 });
      expect(renewed.json).not.toHaveProperty("payload");
      expect(Date.parse(renewed.json.claimed_until)).toBeGreaterThan(
        Date.parse(claimed.json.claimed_until),
      );

      const releaseError = async (body: object) =>
        (await api.expect(409, "POST", pathTo("release"), body)).json.detail;
      expect(await releaseError({ worker: "two" })).toBe("event_id: is not claimed by this worker");
      expect(await releaseError({})).toBe("event_id: is not claimed by this token");
      await api.expect(200, "POST", pathTo("release"), { worker: "one", delay_s: 3_600 });
      expect(
        (await api.expect(409, "POST", pathTo("claim"), { worker: "one" })).json.detail,
      ).toMatch(/^event_id: was released with a delay: it cannot be claimed before 2/);
      expect((await api.expect(200, "GET", `/api/events/${id}`)).json).toMatchObject({
        attempts: 1,
        claimed_by: null,
      });
      expect(
        (await api.expect(409, "POST", pathTo("processed"), { worker: "one" })).json.detail,
      ).toBe("event_id: is not claimed by this worker");
    });

    it("can be released without counting as an attempt, and allow only their worker to mark the event as processed", async () => {
      const api = await startApi(backend);
      const id = await sendEvent(api);
      const post = (status: number, action: string, body: object) =>
        api.expect(status, "POST", `/api/events/${id}/${action}`, body);
      await post(200, "claim", { worker: "one" });
      await post(200, "release", { worker: "one", count_attempt: false });
      expect((await post(200, "claim", { worker: "two" })).json).toMatchObject({ attempts: 1 });
      await post(409, "processed", { worker: "one", note: "late" });
      expect((await post(200, "processed", { worker: "two", note: "done" })).json).toEqual({
        id,
        already: false,
      });
      expect((await post(200, "processed", { worker: "two" })).json).toEqual({ id, already: true });
      expect((await post(409, "claim", { worker: "two" })).json.detail).toBe(
        "event_id: is already processed",
      );
      await post(409, "release", { worker: "two" });
      expect((await api.expect(200, "GET", `/api/events/${id}`)).json).toMatchObject({
        note: "done",
        claimed_until: null,
      });
    });
  },
);

describe.each<Backend>(["SQLite", "workerd"])("claims, on %s", (backend) => {
  it("return large integers of the payload without rounding", async () => {
    const api = await startApi(backend);
    const id = await sendEvent(api, '{"id":12345678901234567890}');
    const { text } = await api.expect(200, "POST", `/api/events/${id}/claim`, { worker: "one" });
    expect(text).toContain('"payload":{"id":12345678901234567890}');
  });

  it("require the scope inbox:write and valid fields", async () => {
    const api = await startApi(backend);
    const id = await sendEvent(api);
    const reader = await api.token("--scope", "inbox:read");
    for (const action of ["claim", "release"])
      await api.expect(403, "POST", `/api/events/${id}/${action}`, {}, { token: reader });
    for (const [action, body, path] of [
      ["claim", { worker: "a/b" }, "worker"],
      ["claim", { worker: "" }, "worker"],
      ["claim", { lease_s: 4 }, "lease_s"],
      ["claim", { lease: 60 }, "lease"],
      ["release", { delay_s: -1 }, "delay_s"],
      ["release", { count_attempt: "no" }, "count_attempt"],
      ["processed", { worker: "x".repeat(101) }, "worker"],
    ] as const) {
      const { json } = await api.expect(400, "POST", `/api/events/${id}/${action}`, body);
      expect(json.errors[0].path, JSON.stringify(json)).toBe(path);
    }
    const unknown = "01a1dd86-35b7-702e-a4fc-71c93a9658a0";
    for (const action of ["claim", "release", "processed"])
      await api.expect(404, "POST", `/api/events/${unknown}/${action}`, { worker: "one" });
    await api.expect(400, "GET", "/api/events?claimable=1&pending=0");
    await api.expect(400, "GET", "/api/events?claimable=1&text=x");
    await api.expect(400, "GET", "/api/events?claimable=0");
  });
});
