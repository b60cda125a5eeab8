/** The HTML pages of the authorization server. They need no script, and cannot be framed. */

import type { Scope } from "../kernel/access/scopes.ts";
import { escapeHtml, page } from "../kernel/http/html-page.ts";

const SCOPE_DESCRIPTIONS: Record<Scope, string> = {
  "inbox:read": "Read the events of the inbox",
  "inbox:write": "Claim events, and mark them as processed",
  "flows:call": "Call the tools of apps",
  "runs:read": "Read runs and their steps",
  "metrics:read": "Read the metrics of the hub",
  admin: "Everything: also flows, connections, secrets, tokens and settings",
};

export interface ConsentPage {
  /** The sealed `Consent`. */
  consent: string;
  action: string;
  clientName: string;
  /** The host of the client's metadata document; undefined if the client has registered itself. */
  clientHost: string | undefined;
  scopes: readonly Scope[];
  /** A list of the tenants; undefined if the hub has only one. */
  tenants: string | undefined;
  resource: string;
  isWholeHub: boolean;
  /** The name of the person who is signed in. */
  signedInAs: string;
  /** Where the hub redirects the browser; undefined if the client waits elsewhere. */
  redirect: { description: string; formTarget: string } | undefined;
  /** How the person recognizes the request, if the client waits elsewhere. */
  started: { at: string; check: string } | undefined;
}

export function consentPage(options: ConsentPage): Response {
  const { clientName, clientHost, scopes, tenants, redirect, started } = options;
  const rows: [string, string][] = [
    ["App", clientHost ?? "registered itself; its name is not verified"],
    ...(redirect ? [["Returns to", redirect.description] as [string, string]] : []),
    ...(started ? [["Started", started.at] as [string, string]] : []),
    ["For", options.isWholeHub ? `everything at ${options.resource}` : options.resource],
    ...(tenants === undefined ? [] : [["Tenants", tenants] as [string, string]]),
    ["You are", options.signedInAs],
  ];
  return page({
    title: `Allow ${clientName} to use this hub?`,
    formTarget: redirect?.formTarget,
    body: `${started ? `<p class="warn">${escapeHtml(started.check)}</p>` : ""}
<h2>It will be able to</h2>
<ul>${scopes.map((scope) => `<li>${escapeHtml(SCOPE_DESCRIPTIONS[scope])} <code>${scope}</code></li>`).join("")}</ul>
<dl>${rows.map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`).join("")}</dl>
<form method="post" action="${options.action}">
<input type="hidden" name="consent" value="${escapeHtml(options.consent)}">
<button name="decision" value="allow" class="primary">Allow</button>
<button name="decision" value="deny">Deny</button>
</form>`,
  });
}

export const userCodePage = (problem?: string): Response =>
  page({
    title: "Connect a device",
    status: problem === undefined ? 200 : 400,
    body: `${problem === undefined ? "" : `<p class="warn" role="alert">${escapeHtml(problem)}</p>`}
<p>Enter the code that the program shows you.</p>
<form method="get" action="/oauth/device">
<label>Code <input name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20" placeholder="BCDF-GHJK" autofocus></label>
<button class="primary">Continue</button>
</form>`,
  });

export const CANNOT_ANSWER = "The request cannot be answered";

interface ReturnPage {
  text: string;
  /** Where the link leads. */
  description: string;
  href: string;
}

/** Shows an error, and a link that returns the error to the client. */
export const returnPage = ({ text, description, href }: ReturnPage): Response =>
  page({
    title: CANNOT_ANSWER,
    status: 400,
    body: `<p>${escapeHtml(text)}</p>
<p>The program that sent you here has made an error. If you trust it, return to <a href="${escapeHtml(href)}">${escapeHtml(description)}</a>. Otherwise close this page.</p>`,
  });
