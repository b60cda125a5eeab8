/** The start page if the web UI is not built: the hub's addresses, the newest events and the first steps. */
import type { EventSummary } from "@signalbox/contract/events.ts";
import { eventName } from "@signalbox/contract/events.ts";
import { escapeHtml } from "../kernel/http/html-page.ts";

export interface HomePage {
  version: string;
  url: string;
  webhookUrl: string;
  /** Whether the hub accepts unsigned webhooks. */
  acceptsUnsigned: boolean;
  storage: string;
  /** The number of pending events; null if the hub has several tenants. */
  pending: number | null;
  /** The newest events, which the page shows without a token; null if the visitor may not see them. */
  newest: readonly EventSummary[] | null;
}

export function homePage(page: HomePage, nonce = ""): string {
  const warning = !page.acceptsUnsigned
    ? ""
    : `<p class="warn"><strong>Unsigned.</strong> Any program on this machine can post events of sources without a secret. Set <code>GITHUB_WEBHOOK_SECRET</code> before others can reach this hub.</p>`;
  const pending =
    page.pending === null
      ? ""
      : `<dt>Pending</dt><dd>${page.pending.toLocaleString("en")} ${page.pending === 1 ? "event" : "events"}</dd>`;
  const newest = page.newest === null ? "" : eventsSection(page.newest);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Signalbox</title>
<style nonce="${nonce}">
  :root { color-scheme: light dark; --ink: light-dark(#1b2430, #e7ecf3); --dim: light-dark(#5b6675, #98a4b5);
    --page: light-dark(#f6f7f9, #11161d); --card: light-dark(#fff, #1a212b); --line: light-dark(#dfe4ea, #2b3542);
    --go: light-dark(#0a7d4f, #3ecf8e); --warn: light-dark(#8a5300, #ffc266); }
  body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
  main { max-width: 44rem; margin: 8vh auto; padding: 0 1.25rem; }
  h1 { font-size: 1.6rem; margin: 0; display: flex; align-items: center; gap: .6rem; }
  h1::before { content: ""; width: .7rem; height: .7rem; border-radius: 50%; background: var(--go);
    box-shadow: 0 0 0 .3rem color-mix(in srgb, var(--go) 22%, transparent); margin: 0 .2rem; }
  .lead { color: var(--dim); margin: .4rem 0 1.6rem; }
  section { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1.1rem 1.3rem; margin: 1rem 0; }
  h2 { font-size: 1rem; margin: 0 0 .6rem; }
  dl { display: grid; grid-template-columns: 7rem 1fr; gap: .35rem 1rem; margin: 0; }
  dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
  code, pre { font: .875rem/1.5 ui-monospace, monospace; }
  pre { background: var(--page); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem; overflow-x: auto; margin: .5rem 0; }
  ol { margin: 0; padding-left: 1.2rem; } li { margin: .5rem 0; }
  .warn { color: var(--warn); border-left: 3px solid var(--warn); padding-left: .8rem; }
  a { color: inherit; }
  .scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .875rem; }
  td { padding: .3rem .9rem .3rem 0; vertical-align: top; overflow-wrap: anywhere; } td:last-child { padding-right: 0; } small { color: var(--dim); }
  td.at { white-space: nowrap; color: var(--dim); font-variant-numeric: tabular-nums; } tr.done { color: var(--dim); }
</style>
<main>
  <h1>Signalbox is running</h1>
  <p class="lead">The trigger hub for AI agents, version ${escapeHtml(page.version)}.</p>
  <p class="warn">The web UI is not built. Run <code>npm run build</code> in the project's folder, then reload this page.</p>
  ${warning}
  <section><h2>This hub</h2><dl>
    <dt>Hub</dt><dd><code>${escapeHtml(page.url)}</code></dd>
    <dt>Webhooks</dt><dd><code>${escapeHtml(page.webhookUrl)}</code></dd>
    <dt>Storage</dt><dd>${escapeHtml(page.storage)}</dd>
    ${pending}
  </dl></section>
  ${newest}
  <section><h2>Next steps</h2><ol>
    <li>Send yourself a first event, from a terminal in the project's folder:
      <pre>npx signalbox send github issues --action opened</pre></li>
    <li>Follow the events: <code>npx signalbox events --follow</code>.</li>
    <li>Point a GitHub webhook at the address above: content type <code>application/json</code>, and the secret that you set as <code>GITHUB_WEBHOOK_SECRET</code>.</li>
    <li>Connect an agent: point an MCP client at <code>${escapeHtml(page.url)}/mcp</code>. Without OAuth it needs a token: <code>npx signalbox token create laptop</code>.</li>
    <li>Monitor the hub: <a href="/readyz">/readyz</a>, <a href="/healthz">/healthz</a>, <a href="/metrics">/metrics</a>.</li>
  </ol></section>
</main>
</html>
`;
}

function eventsSection(events: readonly EventSummary[]): string {
  const body =
    events.length === 0
      ? "<p>There are no events yet.</p>"
      : `<div class="scroll"><table>${events.map(eventRow).join("")}</table></div>`;
  return `<section><h2>Newest events</h2>${body}</section>`;
}

function eventRow(event: EventSummary): string {
  const { received_at, repo, sender, title, url, processed } = event;
  const text = escapeHtml(title ?? event.id);
  const isLink = url !== null && /^https?:/.test(url);
  const link = isLink ? `<a href="${escapeHtml(url)}" rel="noreferrer">${text}</a>` : text;
  const from = [eventName(event), repo ?? sender].filter(Boolean).join(" · ");
  const at = `${received_at.slice(0, 19).replace("T", " ")} UTC`;
  return `<tr${processed ? ' class="done"' : ""}><td class="at">${at}</td><td>${link}<br><small>${escapeHtml(from)}</small></td></tr>`;
}
