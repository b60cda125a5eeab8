/**
 * https://docs.slack.dev: the Events API, slash commands and interactivity on one endpoint. Slack
 * expects a 200 within three seconds and shows the response to a command to the user who sent it.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { slackSignature } from "../admit/signatures.ts";
import { defineSource, type Extractor, either, field, type Sample } from "../admit/source.ts";
import { firstLine, joined, pickText } from "./summary.ts";

const slashCommand: Extractor = {
  describe: "the field command",
  reason: "missing_field",
  find: ({ body }) =>
    typeof body.command === "string" ? { text: "slash_command", in: "field" } : undefined,
};

export const slack = defineSource({
  id: "slack",
  title: "Slack",
  secret: {
    issuedBy: "sender",
    setup:
      "api.slack.com/apps → your app → Basic Information: copy the Signing Secret and store it first, because Slack verifies the URL immediately. Then paste the URL as Request URL under Event Subscriptions, Slash Commands or Interactivity.",
  },
  signature: slackSignature,
  accepts: ["application/json", "application/x-www-form-urlencoded"],
  emptyResponse: true,
  externalId: either(field("event_id"), field("trigger_id")),
  idOptional: true, // `view_closed` and `app_rate_limited` have no id and are sent once
  eventType: either(field("event.type"), slashCommand, field("type")),
  control({ body }) {
    if (body.type === "url_verification" && typeof body.challenge === "string")
      return { outcome: "challenge", challenge: body.challenge };
    if (body.ssl_check === "1") return { outcome: "pong" };
    return undefined;
  },
  summarize: (_, body) => ({
    action: pickText(
      body,
      "event.subtype",
      "actions.0.action_id",
      "view.callback_id",
      "callback_id",
    ),
    sender: pickText(
      body,
      "user_name",
      "user.username",
      "user.name",
      "user.id",
      "event.user",
      "event.user.id",
      "event.bot_id",
    ),
    title: pickText(
      body,
      (inner) => (inner.command ? pickText(inner, joined(" ", "command", "text")) : null),
      ...["event.text", "event.message.text", "message.text", "view.title.text"].map(firstLine),
    ),
  }),
  sample: (id, { type = "app_mention", now = Date.now() } = {}) => sampleOf(type, id, now),
});

const team = { team_id: "T0SIGNAL1", api_app_id: "A0SIGNAL1" };

function sampleOf(type: string, id: string, now: number): Sample {
  if (type === "slash_command")
    return form({
      ...team,
      team_domain: "signalbox",
      channel_id: "C0TRACK3",
      channel_name: "track-3",
      user_id: "U0MONA",
      user_name: "mona",
      command: "/lamp",
      text: "green",
      trigger_id: id,
    });
  if (type === "block_actions")
    return form({
      payload: {
        type,
        trigger_id: id,
        user: { id: "U0MONA", username: "mona" },
        message: { text: "The lamp is red. Switch it?" },
        actions: [{ action_id: "switch_lamp", type: "button", value: "green" }],
      },
    });
  return {
    headers: { "content-type": "application/json" },
    body: {
      ...team,
      type: "event_callback",
      event_id: id,
      event_time: Math.floor(now / 1000),
      event: {
        type,
        user: "U0MONA",
        channel: "C0TRACK3",
        text: "<@U0SIGNAL> the lamp on track 3 is red",
        ts: `${Math.floor(now / 1000)}.000200`,
      },
    },
  };
}

const form = (body: JsonObject): Sample => ({
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body,
});
