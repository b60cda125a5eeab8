/** GitHub sends webhooks while the hub is down. When the hub is back, it asks for each of them. */
import { expect, it, onTestFinished, vi } from "vitest";
import { ADMIN } from "../support/api-client.ts";
import { startFakeGithub } from "../support/fake-github.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { createTokenByCli, runCli, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

const issue = (number: number) => ({
  action: "opened",
  issue: { number, title: `Issue ${number}` },
  repository: { id: 1, full_name: "acme/web", owner: { id: 2, login: "acme" } },
});

/** A fake GitHub, and a hub that is not started yet. */
async function setUp(startProcess: typeof startHubProcess) {
  const github = await startFakeGithub();
  onTestFinished(() => github.close());
  const PORT = await fixedPort();
  const data = tempFolder();
  const env = { ...github.env, PORT, SIGNALBOX_TOKEN: ADMIN };
  const start = async () => {
    const hub = await startProcess({ data, env });
    onTestFinished(async () => void (await hub.stop("SIGKILL")));
    return hub;
  };
  return { github, url: `http://127.0.0.1:${PORT}`, data, env, start };
}

it.each([
  ["SQLite", startHubProcess],
  ["workerd", startWorkerProcess],
] as const)(
  "stores each webhook that failed while the hub was down exactly once, on %s",
  async (host, startProcess) => {
    const { github, url, data, env, start } = await setUp(startProcess);
    github.webhook.url = `${url}/webhooks/github`;
    const get = async (path: string) => {
      const response = await fetch(`${url}${path}`, {
        headers: { authorization: `Bearer ${ADMIN}` },
      });
      expect(response.status).toBe(200);
      return response;
    };
    const redeliveries = async () =>
      (await (await get("/api/github/redeliveries")).json()) as {
        sweep: { completed_at: string | null; error: string | null };
        counts: unknown;
        items: { status: string; requests: number }[];
      };
    const titles = async () =>
      ((await (await get("/api/events?limit=100")).json()) as { items: { title: string }[] }).items
        .map(({ title }) => title)
        .toSorted();
    const requested = () => github.requests.filter((request) => /attempts$/.test(request)).length;

    const first = await start();
    expect((await github.sendWebhook("issues", issue(1))).statusCode).toBeLessThan(300);
    // A sweep that is killed holds its lease for a minute.
    await vi.waitFor(
      async () => expect((await redeliveries()).sweep.completed_at).toBeTruthy(),
      WAIT,
    );
    const firstSweep = (await redeliveries()).sweep.completed_at;
    await first.stop("SIGKILL");
    for (const number of [2, 3, 4]) {
      const { status } = await github.sendWebhook("issues", issue(number));
      expect(status).toBe("failed to connect to host");
    }

    const second = await start();
    // A Durable Object starts with its first request.
    await titles();
    await vi.waitFor(() => expect(requested()).toBe(3), WAIT);
    await github.settled();
    const all = ["Issue 1", "Issue 2", "Issue 3", "Issue 4"];
    expect(await titles()).toEqual(all);
    await vi.waitFor(
      async () => expect((await redeliveries()).sweep.completed_at).not.toBe(firstSweep),
      WAIT,
    );
    expect((await redeliveries()).items).toMatchObject(
      Array.from({ length: 3 }, () => ({ status: "failed to connect to host", requests: 1 })),
    );
    expect(await (await get("/metrics")).text()).toContain(
      'signalbox_github_redeliveries_total{outcome="requested"} 3\n',
    );
    const remote = await runCli(["doctor", "--url", url], { cwd: tempFolder(), env });
    expect(remote.stdout).toMatch(/✓ redelivery +failed webhooks were checked \d+ min ago; 3 open/);
    if (host === "SQLite") {
      const doctor = await runCli(["doctor"], { env: { ...env, SIGNALBOX_DATA: data } });
      expect(doctor.stdout).toMatch(
        /✓ github app +GitHub accepts the id and the key of the App Test/,
      );
      expect(doctor.stdout).toMatch(
        /✓ redelivery +failed webhooks were checked \d+ min ago; 3 open/,
      );
    }

    // The next sweep reads that the redeliveries succeeded, and requests nothing more.
    await second.stop();
    await start();
    await vi.waitFor(
      async () =>
        expect((await redeliveries()).counts).toEqual({ open: 0, given_up: 0, delivered: 3 }),
      WAIT,
    );
    expect(requested()).toBe(3);
    expect(await titles()).toEqual(all);
  },
);

it.each([
  ["SQLite", startHubProcess],
  ["workerd", startWorkerProcess],
] as const)(
  "asks for a webhook again when an operator retries it, on %s",
  async (_, startProcess) => {
    const { github, url, data, env, start } = await setUp(startProcess);
    // GitHub cannot reach the hub.
    github.webhook.url = `http://127.0.0.1:${await fixedPort()}/webhooks/github`;
    const { guid } = await github.sendWebhook("issues", issue(1));
    await start();
    const call = async (path: string, method = "GET", token = ADMIN) => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, connection: "close" },
      });
      // biome-ignore lint/suspicious/noExplicitAny: responses of several shapes
      return { status: response.status, json: (await response.json()) as any };
    };
    const first = async () => (await call("/api/github/redeliveries")).json.items[0];
    await vi.waitFor(
      async () => expect(await first()).toMatchObject({ guid, requests: 1, can_retry: true }),
      WAIT,
    );
    await github.settled();
    const completed = async () => (await call("/api/github/redeliveries")).json.sweep.completed_at;
    await vi.waitFor(async () => expect(await completed()).toBeTruthy(), WAIT);
    github.webhook.url = `${url}/webhooks/github`;

    const path = `/api/github/redeliveries/${guid}/retry`;
    const admin = await createTokenByCli(
      { ...env, SIGNALBOX_DATA: data, SIGNALBOX_URL: url },
      "--scope",
      "admin",
    );
    expect(await call(path, "POST", admin.token)).toMatchObject({ status: 403 });
    expect(await call("/api/github/redeliveries/none/retry", "POST")).toMatchObject({
      status: 404,
    });
    expect(await call(path, "POST")).toMatchObject({ status: 202, json: { state: "open", guid } });
    const titles = async () =>
      (await call("/api/events")).json.items.map(({ title }: { title: string }) => title);
    await vi.waitFor(async () => expect(await titles()).toEqual(["Issue 1"]), WAIT);
  },
);
