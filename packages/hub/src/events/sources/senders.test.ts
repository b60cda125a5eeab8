/** Behaviour that is specific to one sender. */

import type { JsonObject } from "@signalbox/rules/json.ts";
import { describe, expect, it } from "vitest";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { linear } from "./linear.ts";
import { signSample } from "./signed-sample.ts";
import { slack } from "./slack.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";
import { decode, decodeOne } from "./test-request.ts";

const json = (body: JsonObject, headers: Record<string, string> = {}) => ({
  headers: { "content-type": "application/json", ...headers },
  body: utf8(JSON.stringify(body)),
});
const form = (text: string) => ({
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: utf8(text),
});

describe("Slack", () => {
  it("responds to a URL verification", () => {
    const challenge = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P";
    expect(decode(slack, json({ type: "url_verification", token: "x", challenge }))).toEqual({
      outcome: "challenge",
      challenge,
    });
    // Without a challenge it is an ordinary event, and nothing is echoed.
    expect(decodeOne(slack, json({ type: "url_verification" })).type).toBe("url_verification");
  });

  it("responds to an SSL check", () => {
    expect(decode(slack, form("token=x&ssl_check=1"))).toEqual({ outcome: "pong" });
  });

  it("decodes and summarizes events", () => {
    const event = { type: "message", subtype: "message_changed", user: "U1", text: "one\ntwo" };
    const decoded = decodeOne(slack, json({ type: "event_callback", event_id: "Ev1", event }));
    expect(decoded).toMatchObject({ type: "message", externalId: "Ev1" });
    expect(slack.summarize(decoded.type, decoded.body)).toEqual({
      action: "message_changed",
      sender: "U1",
      title: "one",
    });
    const both = { event_id: "Ev1", trigger_id: "t", event };
    expect(decodeOne(slack, json(both)).externalId).toBe("Ev1");
    const joined = { type: "team_join", user: { id: "U2" } };
    expect(slack.summarize("team_join", { event: joined })).toMatchObject({
      sender: "U2",
      title: null,
    });
  });

  it("decodes and summarizes slash commands", async () => {
    const sample = slack.sample("trigger-1", { type: "slash_command" });
    const wire = await signSample(slack, sample ?? { body: {}, headers: {} }, "s", {
      now: 0,
      id: "",
    });
    expect(new TextDecoder().decode(wire.body)).toContain("command=%2Flamp&text=green");
    const decoded = decodeOne(slack, wire);
    expect(decoded).toMatchObject({ type: "slash_command", externalId: "trigger-1" });
    expect(slack.summarize(decoded.type, decoded.body)).toMatchObject({
      title: "/lamp green",
      sender: "mona",
    });
  });

  it("decodes and summarizes interactions", async () => {
    const sample = slack.sample("trigger-2", { type: "block_actions" });
    const wire = await signSample(slack, sample ?? { body: {}, headers: {} }, "s", {
      now: 0,
      id: "",
    });
    expect(new TextDecoder().decode(wire.body)).toMatch(/^payload=%7B/);
    const decoded = decodeOne(slack, wire);
    expect(decoded).toMatchObject({ type: "block_actions", externalId: "trigger-2" });
    expect(slack.summarize(decoded.type, decoded.body)).toMatchObject({
      action: "switch_lamp",
      sender: "mona",
      title: "The lamp is red. Switch it?",
    });
  });

  it("accepts events without an id, but not without a type", () => {
    expect(decodeOne(slack, json({ type: "app_rate_limited", team_id: "T1" }))).toMatchObject({
      type: "app_rate_limited",
      externalId: null,
    });
    expect(decode(slack, json({ text: "?" }))).toMatchObject({ reason: "missing_field" });
  });
});

describe("GitLab", () => {
  const push = {
    object_kind: "push",
    event_name: "push",
    ref: "refs/heads/main",
    user_username: "mona",
    project: { path_with_namespace: "signals/lamp", web_url: "https://gitlab.com/signals/lamp" },
    commits: [
      { title: "older", url: "https://gitlab.com/c/1" },
      { title: "newest", url: "https://gitlab.com/c/2" },
    ],
  };
  const idOf = (headers: Record<string, string>) =>
    decodeOne(gitlab, json(push, headers)).externalId;

  it("takes the delivery id from the first of three headers", () => {
    const uuid = { "x-gitlab-event-uuid": "e", "x-gitlab-webhook-uuid": "w" };
    expect(idOf({ ...uuid, "idempotency-key": "i" })).toBe("i");
    expect(idOf({ ...uuid, "idempotency-key": "i", "webhook-id": "s" })).toBe("s");
    expect(idOf(uuid)).toBe("w");
    expect(idOf({ "x-gitlab-event-uuid": "e" })).toBeNull(); // not unique
  });

  it("takes the event type from object_kind, event_name or a header", () => {
    const typeOf = (body: JsonObject) =>
      decodeOne(gitlab, json(body, { "x-gitlab-event": "Push Hook" })).type;
    expect(typeOf({ object_kind: "merge_request", event_name: "x" })).toBe("merge_request");
    expect(typeOf({ event_name: "user_add_to_group" })).toBe("user_add_to_group");
    expect(typeOf({ custom: "template" })).toBe("Push Hook");
  });

  const summary = (body: JsonObject) => gitlab.summarize(String(body.object_kind), body);

  it("summarizes events", () => {
    expect(summary(push)).toEqual({
      action: null,
      repo: "signals/lamp",
      sender: "mona",
      number: null,
      title: "main: newest",
      url: "https://gitlab.com/c/2",
    });
    expect(summary({ ...push, commits: [] })).toMatchObject({
      title: "main",
      url: "https://gitlab.com/signals/lamp",
    });
    expect(
      summary({
        object_kind: "note",
        user: { username: "mona" },
        object_attributes: {
          note: "LGTM",
          url: "https://gitlab.com/mr/4#note_1",
          action: "create",
        },
        merge_request: { iid: 4, title: "Green" },
      }),
    ).toMatchObject({
      action: "create",
      number: 4,
      title: "Green",
      url: "https://gitlab.com/mr/4#note_1",
    });
    expect(
      summary({
        object_kind: "pipeline",
        object_attributes: { iid: 3, ref: "main", status: "failed", url: "https://gitlab.com/p/3" },
        commit: { title: "not this" },
      }),
    ).toMatchObject({ number: 3, title: "main: failed", url: "https://gitlab.com/p/3" });
    expect(
      summary({ object_kind: "build", ref: "main", build_name: "test", build_status: "success" }),
    ).toMatchObject({ title: "test: main: success" });
    expect(
      summary({
        object_kind: "deployment",
        environment: "staging",
        status: "running",
        deployable_url: "https://d",
      }),
    ).toMatchObject({ title: "staging: running", url: "https://d" });
    expect(
      summary({
        object_kind: "release",
        name: "v1",
        tag: "1.0",
        action: "create",
        url: "https://r",
      }),
    ).toMatchObject({ action: "create", title: "v1", url: "https://r" });
  });

  it("has the same size limit as GitHub", () => {
    expect(gitlab.maxBytes).toBe(25 * 1024 * 1024);
  });
});

describe("Linear", () => {
  const sample = linear.sample("d-1", { type: "Issue", action: "update", now: 5 })?.body ?? {};

  it("decodes and summarizes events", () => {
    const decoded = decodeOne(
      linear,
      json(sample, { "linear-delivery": "d-1", "linear-event": "Forged" }),
    );
    expect(decoded).toMatchObject({ type: "Issue", externalId: "d-1" }); // the type in the signed body has precedence
    expect(linear.summarize("Issue", sample)).toEqual({
      action: "update",
      sender: "Mona",
      number: 7,
      title: "The lamp stays red after the train has passed",
      url: "https://linear.app/signals/issue/LMP-7",
    });
    expect(sample.webhookTimestamp).toBe(5);
  });

  it("uses the issue's title for a comment and the name for a project", () => {
    const titleOf = (data: JsonObject) => linear.summarize("", { data }).title;
    expect(titleOf({ body: "text", issue: { title: "Lamp" } })).toBe("Lamp");
    expect(titleOf({ body: "text\nmore" })).toBe("text");
    expect(titleOf({ name: "Project" })).toBe("Project");
  });

  it("requires a delivery id", () => {
    expect(decode(linear, json(sample))).toMatchObject({ reason: "missing_header" });
  });

  it("gets an empty 200, as Slack does and Stripe does not", () => {
    expect([linear, slack, stripe].map(({ emptyResponse }) => emptyResponse)).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe("Stripe", () => {
  it("takes the delivery id and the type from the body", () => {
    expect(decodeOne(stripe, json({ id: "evt_1", type: "charge.refund.updated" }))).toMatchObject({
      type: "charge.refund.updated",
      externalId: "evt_1",
    });
    expect(decode(stripe, json({ type: "x" }))).toMatchObject({ reason: "missing_field" });
    expect(decode(stripe, json({ id: "evt_1" }))).toMatchObject({ reason: "missing_field" });
  });

  it("summarizes snapshot and thin events", () => {
    const object = {
      id: "in_1",
      number: "A-7",
      hosted_invoice_url: "https://invoice.stripe.com/i/1",
    };
    expect(stripe.summarize("invoice.paid", { account: "acct_1", data: { object } })).toEqual({
      action: "paid",
      sender: "acct_1",
      title: "A-7",
      url: "https://invoice.stripe.com/i/1",
    });
    const thin = { related_object: { id: "acct_2", url: "/v2/core/accounts/acct_2" } };
    expect(stripe.summarize("v2.core.account.created", thin)).toEqual({
      action: "created",
      sender: null,
      title: "acct_2",
      url: null,
    });
  });
});

describe("GitHub", () => {
  it("accepts a form only with the field payload", () => {
    const headers = { "x-github-event": "issues", "x-github-delivery": "1" };
    const wire = (text: string) => ({
      ...form(text),
      headers: { ...form(text).headers, ...headers },
    });
    expect(decodeOne(github, wire("payload=%7B%7D")).body).toEqual({});
    expect(decode(github, wire("action=opened"))).toMatchObject({
      reason: "missing_field",
      detail: expect.stringContaining("payload"),
    });
  });
});

describe("Standard Webhooks", () => {
  it("has a sample that can be decoded without a signature", async () => {
    const sample = standardWebhooks.sample("msg_1");
    if (!sample) throw new Error("no sample");
    const wire = await signSample(standardWebhooks, sample, undefined, { now: 0, id: "msg_1" });
    expect(decodeOne(standardWebhooks, wire).externalId).toBe("msg_1");
  });

  it("takes the delivery id from the headers that are verified", () => {
    const family = (name: string, id: string) => ({
      [`${name}-id`]: id,
      [`${name}-timestamp`]: "1",
      [`${name}-signature`]: "v1,AA==",
    });
    const idOf = (headers: Record<string, string>) =>
      decodeOne(standardWebhooks, json({}, headers)).externalId;
    expect(idOf(family("svix", "s"))).toBe("s");
    expect(idOf({ ...family("svix", "s"), ...family("webhook", "w") })).toBe("w");
    expect(idOf({ ...family("svix", "s"), "webhook-id": "forged" })).toBe("s");
    expect(idOf({ ...family("webhook", "w"), "svix-id": "forged" })).toBe("w");
    expect(idOf({ "svix-id": "unsigned" })).toBe("unsigned");
    expect(decode(standardWebhooks, json({}))).toMatchObject({
      reason: "missing_header",
      detail: expect.stringContaining("webhook-id or the header svix-id"),
    });
  });

  it("takes the type from the body, or uses a default", () => {
    const typeOf = (body: JsonObject) =>
      decodeOne(standardWebhooks, json(body, { "webhook-id": "m" })).type;
    expect(typeOf({ type: "user.created" })).toBe("user.created");
    expect(typeOf({ type: "" })).toBe("event");
    expect(typeOf({ type: { no: "text" } })).toBe("event");
  });
});
