/**
 * https://docs.gitlab.com/user/project/integrations/webhooks: a hook sends its secret token in a header.
 * Recent versions can also sign as in Standard Webhooks, with a signing token (`whsec_…`). A hook can
 * have both tokens; one valid token is enough.
 */

import { anyOf, sharedToken, standardSignature } from "../admit/signatures.ts";
import { defineSource, either, field, header, valueAt } from "../admit/source.ts";
import {
  firstFound,
  firstLine,
  joined,
  pickNumber,
  pickText,
  pickUrl,
  shortRef,
  type TextPicker,
} from "./summary.ts";

/** The fields with the commented object or, for other events, with the object of the event. */
const subjects = ["merge_request", "issue", "work_item", "snippet", "object_attributes"];

/** Picks a field of the newest commit, which is the last one. */
const lastCommit =
  (name: string): TextPicker =>
  (body) => {
    const commits = valueAt(body, "commits");
    return Array.isArray(commits) ? pickText(body, `commits.${commits.length - 1}.${name}`) : null;
  };

const push = joined(
  ": ",
  shortRef("ref"),
  firstFound(lastCommit("title"), firstLine(lastCommit("message"))),
);

/** Event kinds whose title is built from several fields. */
const titles: Record<string, TextPicker> = {
  push,
  tag_push: push,
  pipeline: joined(
    ": ",
    "object_attributes.name",
    "object_attributes.ref",
    "object_attributes.status",
  ),
  build: joined(": ", "build_name", shortRef("ref"), "build_status"),
  deployment: joined(": ", "environment", shortRef("ref"), "status"),
};

export const gitlab = defineSource({
  id: "gitlab",
  title: "GitLab",
  secret: {
    issuedBy: "you",
    setup:
      "Project or group → Settings → Webhooks → Add new webhook: paste the URL, and the secret as Secret token. A secret of the form whsec_… can be the Signing token instead.",
  },
  maxBytes: 25 * 1024 * 1024, // GitLab's own limit
  signature: anyOf(standardSignature, sharedToken({ header: "X-Gitlab-Token" })),
  headers: ["x-gitlab-event", "x-gitlab-instance", "idempotency-key"],
  // X-Gitlab-Event-UUID is not unique: webhooks that cause each other share it. GitLab before 17.4
  // sends no Idempotency-Key. Its X-Gitlab-Webhook-UUID changes on every attempt, so a retry is
  // stored as a new event.
  externalId: either(
    header("webhook-id"),
    header("Idempotency-Key"),
    header("X-Gitlab-Webhook-UUID"),
  ),
  idOptional: true, // GitLab before 16.2
  eventType: either(field("object_kind"), field("event_name"), header("X-Gitlab-Event")),
  summarize: (type, body) => ({
    action: pickText(body, "object_attributes.action", "action"),
    repo: pickText(body, "project.path_with_namespace", "path_with_namespace"),
    sender: pickText(body, "user.username", "user_username", "user_name", "user.name"),
    number: pickNumber(body, ...subjects.map((subject) => `${subject}.iid`)),
    title: pickText(
      body,
      ...(Object.hasOwn(titles, type) ? [titles[type] as TextPicker] : []),
      ...subjects.map((subject) => `${subject}.title`),
      ...["commit.title", "object_attributes.name", "name", "tag"].map(firstLine),
      "project.name",
      "group_name",
    ),
    url: pickUrl(
      body,
      "object_attributes.url",
      "object_attributes.awarded_on_url",
      "url",
      "deployable_url",
      lastCommit("url"),
      "commit.url",
      "project.web_url",
    ),
  }),
  sample: (id, { type = "issue", action = "open" } = {}) => ({
    headers: {
      "content-type": "application/json",
      "user-agent": "GitLab/19.1.0",
      "idempotency-key": id,
      "x-gitlab-event": `${type[0]?.toUpperCase() ?? ""}${type.slice(1).replaceAll("_", " ")} Hook`,
      "x-gitlab-instance": "https://gitlab.com",
    },
    body: {
      object_kind: type,
      event_type: type,
      user: { id: 1, name: "Mona", username: "mona" },
      project: {
        id: 3,
        name: "Lamp",
        path_with_namespace: "signals/lamp",
        web_url: "https://gitlab.com/signals/lamp",
      },
      object_attributes: {
        id: 701,
        iid: 7,
        title: "The lamp stays red after the train has passed",
        state: "opened",
        action,
        url: "https://gitlab.com/signals/lamp/-/issues/7",
      },
    },
  }),
});
