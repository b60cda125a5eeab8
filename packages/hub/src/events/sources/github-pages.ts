/** The pages of GitHub to which a summary links. Many payloads contain only addresses of the API. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { isWebUrl, pickFirst, pickText, type TextPicker } from "./pick.ts";

/** The API of github.com, of GitHub Enterprise Cloud on ghe.com, and of GitHub Enterprise Server. */
const API = /^https?:\/\/(?:api\.github\.com|api\.[a-z\d-]+\.ghe\.com|[^/]+\/api\/v3)(?:[/:?#]|$)/i;

const isPage = (value: Json | undefined): value is string => isWebUrl(value) && !API.test(value);

/** The first http(s) URL that is not an address of GitHub's API. */
export const pickPage = (body: JsonObject, ...pickers: readonly TextPicker[]): string | null =>
  pickFirst(body, pickers, isPage);

/**
 * Returns a page of the repository, such as `commit/{check_suite.head_sha}`. Each path in braces is
 * replaced by that field of the payload; without the field there is no page.
 */
export const repositoryPage = (template: string): TextPicker =>
  page((body) => pickPage(body, "repository.html_url"), template);

/** Returns a page outside the repository, on the same GitHub server as the sender's page. */
export const serverPage = (template: string): TextPicker =>
  page(
    (body) => /^https?:\/\/[^/]+/i.exec(pickPage(body, "sender.html_url") ?? "")?.[0] ?? null,
    template,
  );

const page =
  (base: (body: JsonObject) => string | null, template: string): TextPicker =>
  (body) => {
    let isComplete = true;
    const path = template.replace(/\{([\w.]+)\}/g, (_, field: string) => {
      const text = pickText(body, field);
      isComplete &&= text !== null;
      return encodeURIComponent((text ?? "").toWellFormed());
    });
    const baseUrl = base(body);
    return isComplete && baseUrl !== null ? `${baseUrl}/${path}` : null;
  };
