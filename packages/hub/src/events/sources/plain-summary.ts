/** Summarizes payloads without a known shape by common field names. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Summary } from "../model.ts";
import { firstLine, pickNumber, pickText, pickUrl } from "./pick.ts";

const titles = ["title", "name", "subject", "summary", "message", "text", "description"];
const urls = ["html_url", "web_url", "url", "link"];
const senders = ["sender", "actor", "user", "author"];
const nameFields = ["login", "username", "name", "email"];

/** Searches the top level first, then `data`, the usual field of envelopes. */
const paths = (names: string[]) => [...names, ...names.map((name) => `data.${name}`)];

// Built once: building them for every event would cost as much as reading the fields.
const actionPaths = paths(["action"]);
const senderPaths = paths(
  senders.flatMap((sender) => [sender, ...nameFields.map((name) => `${sender}.${name}`)]),
);
const numberPaths = paths(["number"]);
const titlePickers = paths(titles).map(firstLine);
const urlPaths = paths(urls);

export const summarizePlain = (body: JsonObject): Partial<Summary> => ({
  action: pickText(body, ...actionPaths),
  repo: null,
  sender: pickText(body, ...senderPaths),
  number: pickNumber(body, ...numberPaths),
  title: pickText(body, ...titlePickers),
  url: pickUrl(body, ...urlPaths),
});
