/**
 * The requests that the hub does not deny to a member of an organization because the member is not an
 * admin: use the inbox, call tools, read runs, and read data that all tenants share. A new request that
 * members may make must be added here.
 */
import { methodRequests } from "./request-inputs.ts";

const inboxTools = [
  "get_pending_status",
  "list_pending_events",
  "get_event",
  "get_webhook_events",
  "mark_processed",
  "claim_events",
  "release_event",
  "search_events",
  "wait_for_event",
  "explain_event",
  "replay_event",
];

export const memberRequests: ReadonlySet<string> = new Set([
  ...inboxTools.map((name) => `the tool ${name}`),
  ...Object.keys(methodRequests).map((name) => `the method ${name}`),
  "GET /pending-events",
  "GET /pending-status",
  "GET /webhook-events",
  "GET /event",
  "POST /mark-processed",
  "GET /api/events",
  "GET /api/events/{event}",
  "GET /api/events/{event}/explain",
  "GET /api/events/{event}/headers",
  "POST /api/events/bulk",
  "POST /api/events/{event}/claim",
  "POST /api/events/{event}/processed",
  "POST /api/events/{event}/release",
  "POST /api/events/{event}/replay",
  "POST /api/events/{event}/waiting",
  "GET /api/event-types",
  "POST /api/triggers/preview",
  "GET /api/runs",
  "GET /api/runs/{run}",
  "GET /api/runs/{run}/input",
  "GET /api/runs/{run}/output",
  "GET /api/runs/{run}/steps",
  "GET /api/runs/{run}/steps/{nth}/input",
  "GET /api/runs/{run}/steps/{nth}/output",
  "GET /api/runs/{run}/stream",
  "GET /api/queue",
  "GET /api/stats",
  "GET /api/tenants",
  // The grants of OAuth clients that act for the member.
  "GET /api/oauth/grants",
  "DELETE /api/oauth/grants/{grant}",
  "GET /api/session",
  "GET /api/session/methods",
  "POST /api/session",
  // Denied to everyone who has signed in with GitHub, admins too.
  "POST /api/session/links",
  "GET /api/hub",
  "GET /api/node-types",
  "GET /api/openapi.json",
  "GET /api/source-kinds",
  "GET /healthz",
  "GET /readyz",
]);
