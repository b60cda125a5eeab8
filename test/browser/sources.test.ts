import { createHmac } from "node:crypto";
import type { Redelivery } from "@signalbox/contract";
import { expect, it } from "vitest";
import { deliver, issueOpened } from "../support/deliver.ts";
import { intercept } from "./support/intercept.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

it("adds an endpoint with instructions for its sender, receives webhooks, and rotates the secret", async () => {
  const page = await ui.open("/sources");
  await page.getByRole("heading", { name: "No endpoint with a key yet" }).waitFor();
  await page.getByRole("button", { name: "Add a source" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("Town hall");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Set up GitHub" });
  await dialog.getByText("Settings → Webhooks → Add webhook", { exact: false }).waitFor();
  const [url = "", secret = ""] = await dialog.locator("pre").allTextContents();
  await dialog.getByRole("button", { name: "Done" }).click();
  const card = page.getByRole("listitem").filter({ hasText: "Town hall" });
  await card.getByText("nothing received lately").waitFor();

  const send = (secret: string) =>
    deliver(ui.url(), {
      path: new URL(url).pathname,
      secret,
      body: JSON.stringify(issueOpened),
    });
  expect((await send(secret)).status).toBe(202);
  expect((await send("wrong")).status).toBe(403);
  await page.reload();
  await card.getByText("last received just now").waitFor();
  await page
    .getByRole("region", { name: "Rejected webhooks" })
    .getByText(/signature/i)
    .first()
    .waitFor();

  await card.getByRole("button", { name: "Rotate the secret" }).click();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await page.getByText("New secret, shown only now").waitFor();
  const newSecret = (await page.getByRole("dialog").locator("pre").textContent()) ?? "";
  await page.getByRole("button", { name: "Done" }).click();
  await card.getByText("2 secrets, the former valid until", { exact: false }).waitFor();
  // The hub caches endpoints for a moment.
  await expect.poll(async () => (await send(newSecret)).status).toBe(202);

  await card.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("“Town hall” was deleted").waitFor();
});

it("asks for the secret if the sender creates it", async () => {
  const page = await ui.open("/sources");
  await page.getByRole("button", { name: "Add a source" }).first().click();
  await page.getByRole("combobox", { name: "Sender" }).selectOption("stripe");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByLabel("Secret that Stripe shows").fill("short");
  await page.getByRole("button", { name: "Store the secret" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Secret that Stripe shows").fill(`whsec_${"a".repeat(40)}`);
  await page.getByRole("button", { name: "Store the secret" }).click();
  await page.getByRole("listitem").filter({ hasText: "1 secret" }).waitFor();
});

it("configures how a generic sender signs its webhooks and names its event types", async () => {
  const page = await ui.open("/sources");
  await page.getByRole("button", { name: "Add a source" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: "Sender" }).selectOption("generic");
  await dialog.getByRole("textbox", { name: "Name" }).fill("Acme");
  await dialog.getByRole("combobox", { name: "Mode" }).selectOption("bearer");
  await dialog.getByRole("combobox", { name: "Encoding" }).selectOption("base64");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await dialog.getByText('is only for mode "hmac"', { exact: false }).first().waitFor();
  await dialog.getByRole("combobox", { name: "Mode" }).selectOption("hmac");
  await dialog.getByRole("textbox", { name: "Header", exact: true }).fill("X-Acme-Signature");
  await dialog.getByRole("textbox", { name: "Type field" }).fill("event.kind");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("dialog", { name: "Set up Generic webhook" }).waitFor();
  const [url = "", secret = ""] = await dialog.locator("pre").allTextContents();
  await dialog.getByRole("button", { name: "Done" }).click();

  const body = JSON.stringify({ event: { kind: "lamp.lit" }, title: "Lamp 3" });
  const send = (header: string) =>
    fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        [header]: createHmac("sha256", secret).update(body).digest("base64"),
      },
      body,
    });
  expect((await send("x-acme-signature")).status).toBe(202);
  expect((await send("x-other")).status).not.toBe(202);
  const { json } = await ui.call("GET", "/api/events?type=lamp.lit");
  expect(json.items).toHaveLength(1);

  const card = page.getByRole("listitem").filter({ hasText: "Acme" });
  await card.getByText("header X-Acme-Signature", { exact: false }).waitFor();
  await card.getByRole("button", { name: "Edit" }).click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("Acme lamps");
  await dialog.getByRole("combobox", { name: "Encoding" }).selectOption("");
  await dialog.getByRole("textbox", { name: "Header", exact: true }).fill("X-Lamp-Signature");
  await dialog.getByRole("button", { name: "Save" }).click();
  await card
    .filter({ hasText: "Acme lamps" })
    .getByText("header X-Lamp-Signature", { exact: false })
    .waitFor();
  const stored = await ui.call("GET", "/api/sources");
  expect(
    stored.json.items.find(({ name }: { name: string }) => name === "Acme lamps").config,
  ).toEqual({
    mode: "hmac",
    header: "X-Lamp-Signature",
    typeField: "event.kind",
  });
});

it("shows whether the shared endpoints verify, accept or reject webhooks", async () => {
  expect((await deliver(ui.url())).status).toBe(202);
  const page = await ui.open("/sources");
  const shared = page.getByRole("region", { name: "Endpoints of the whole hub" });
  const row = (name: string) => shared.getByRole("listitem").filter({ hasText: name });
  await row("GITHUB_WEBHOOK_SECRET").getByText("secret set").waitFor();
  await row("GITHUB_WEBHOOK_SECRET").getByRole("img", { name: "has received events" }).waitFor();
  await row("STRIPE_WEBHOOK_SECRET").getByText("unsigned webhooks are accepted").waitFor();

  await intercept(page, "**/api/source-kinds", async (route) => {
    const response = await route.fetch();
    const { items } = (await response.json()) as { items: object[] };
    const json = { items: items.map((kind) => ({ ...kind, verification: "rejected" })) };
    await route.fulfill({ response, json });
  });
  await page.reload();
  await row("GITHUB_WEBHOOK_SECRET").getByText("no secret: webhooks are rejected").waitFor();
  await row("GITHUB_WEBHOOK_SECRET").getByRole("img", { name: "rejects webhooks now" }).waitFor();
});

it.each(THEMES)("has no serious accessibility violation in the %s theme", async (colorScheme) => {
  const page = await ui.open("/sources", { colorScheme, reducedMotion: "reduce" });
  await page.getByRole("heading", { name: "Endpoints of the whole hub" }).waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Add a source" }).first().click();
  await page.getByRole("combobox", { name: "Sender" }).selectOption("generic");
  await page.getByRole("combobox", { name: "Mode" }).waitFor();
  expect(await findAccessibilityViolations(page), "add").toEqual([]);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("dialog", { name: "Set up Generic webhook" }).waitFor();
  expect(await findAccessibilityViolations(page), "set up").toEqual([]);
  // A click beside the dialog must not hide a secret that is shown once.
  await page.mouse.click(5, 5);
  await page.getByRole("button", { name: "Done" }).click();
  for (const name of ["Rotate the secret", "Edit", "Delete"]) {
    await page.getByRole("listitem").getByRole("button", { name }).first().click();
    await page.getByRole("dialog").waitFor();
    expect(await findAccessibilityViolations(page), name).toEqual([]);
    await page.keyboard.press("Escape");
  }
});

it("shows operators the webhooks that GitHub failed to deliver, and an error if GitHub cannot be asked", async () => {
  const at = new Date().toISOString();
  const failed: Redelivery = {
    guid: "a1",
    state: "open",
    event: "issues",
    action: "opened",
    installation: null,
    status: "failed to connect to host",
    status_code: 0,
    failed_at: at,
    attempted_at: at,
    requests: 2,
    requested_at: at,
    next_at: at,
    note: null,
    can_retry: true,
  };
  const givenUp: Redelivery = {
    ...failed,
    guid: "a2",
    state: "given_up",
    event: "push",
    action: null,
    status: "Invalid HTTP Response: 503",
    status_code: 503,
    next_at: null,
    note: "It failed again after 5 redeliveries.",
  };
  const redeliveries = {
    is_enabled: true,
    sweep: { completed_at: at as string | null, next_at: at, error: null as string | null },
    counts: { open: 1, given_up: 1, delivered: 0 },
    items: [failed, givenUp, { ...givenUp, guid: "a3", event: "star", can_retry: false }],
  };
  const retried: string[] = [];
  const openSources = (json: typeof redeliveries) =>
    ui.open("/sources", {
      prepare: async (page) => {
        await page.route("**/api/github/redeliveries", (route) => route.fulfill({ json }));
        await page.route("**/api/github/redeliveries/*/retry", (route) => {
          retried.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
          json.items[1] = { ...givenUp, state: "open", requests: 0, note: null };
          return route.fulfill({ status: 202, json: json.items[1] });
        });
      },
    });
  const page = await openSources(redeliveries);
  const section = page.getByRole("region", { name: "Failed webhooks of the GitHub App" });
  await section.getByText("1 open, 1 given up.", { exact: false }).waitFor();
  await section.getByRole("listitem").filter({ hasText: "issues.opened" }).waitFor();
  const pushItem = section.getByRole("listitem").filter({ hasText: "push" });
  await pushItem
    .getByText("Response: 503. It failed again after 5 redeliveries.", { exact: false })
    .waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  expect(await section.getByRole("button").allInnerTexts()).toEqual(["Try again", "Try again"]);
  await section.getByRole("button", { name: "Try again: push" }).click();
  await pushItem.getByText("not requested").waitFor();
  await page.getByText("The hub asks GitHub for the webhook again").waitFor();
  expect(retried).toEqual(["POST /api/github/redeliveries/a2/retry"]);

  const error = "GitHub returned 401: A JSON web token could not be decoded. Check GITHUB_APP_ID.";
  const failingPage = await openSources({
    ...redeliveries,
    sweep: { ...redeliveries.sweep, error },
    items: [],
  });
  await failingPage.getByRole("alert").getByText(error, { exact: false }).waitFor();

  const uncheckedPage = await openSources({
    ...redeliveries,
    sweep: { ...redeliveries.sweep, completed_at: null },
    counts: { open: 0, given_up: 0, delivered: 0 },
    items: [],
  });
  await uncheckedPage.getByText("The first check has not finished.", { exact: true }).waitFor();

  // The hub of this test has no GitHub App, so the page does not show the section.
  const pageWithoutApp = await ui.open("/sources");
  await pageWithoutApp.getByRole("heading", { name: "Rejected webhooks" }).waitFor();
  // The section disappears when the page has loaded.
  await expect
    .poll(() => pageWithoutApp.getByText("Failed webhooks of the GitHub App").count())
    .toBe(0);
});
