/** HTML pages: their headers, the escaping of their texts, and pages that need no script and cannot be framed. */
export const escapeHtml = (text: string) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

export const createNonce = (): string =>
  btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18))));

export const pageHeaders = (nonce: string, policy = policyWith([])): Record<string, string> => ({
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": `${policy}; style-src 'self' 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  ...NO_SNIFF,
});

/** `imageOrigins`: the origins from which pages may load images, besides the hub itself. */
export const policyWith = (imageOrigins: readonly string[]) =>
  `default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; img-src ${["'self'", "data:", ...imageOrigins].join(" ")}; font-src 'self'; manifest-src 'self'`;

export const STATIC_POLICY = "default-src 'none'";

export const NO_SNIFF = { "x-content-type-options": "nosniff" };

/** A page that the web UI does not serve. */
export interface OtherPage {
  path: string;
  /** Changes the address to which the page is redirected. `origin`: that of the request. */
  onRedirect?(page: URL, origin: string): void;
}

interface Page {
  title: string;
  body: string;
  /** Where a form may lead besides this hub, for `form-action`. Browsers also apply it to redirects after the form. */
  formTarget?: string | undefined;
  /** The path that the page opens immediately. */
  refresh?: string;
  status?: number;
}

export function page({ title, body, formTarget = "", refresh, status = 200 }: Page): Response {
  const nonce = createNonce();
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${refresh === undefined ? "" : `<meta http-equiv="refresh" content="0; url=${escapeHtml(refresh)}">`}
<title>${escapeHtml(title)} · Signalbox</title>
<style nonce="${nonce}">${STYLE}</style>
<main><header>${LOGO}<span>Signalbox</span></header>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</html>
`;
  return new Response(html, {
    status,
    headers: {
      ...pageHeaders(nonce),
      "content-security-policy": `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'self' ${formTarget}; frame-ancestors 'none'`,
      "x-frame-options": "DENY",
      // With `no-referrer`, browsers would send `Origin: null` with the form.
      "referrer-policy": "same-origin",
    },
  });
}

export const messagePage = (title: string, text: string, status = 200): Response =>
  page({ title, body: `<p>${escapeHtml(text)}</p>`, status });

/**
 * A page that opens `path` again. A browser that comes from another site does not send the session
 * cookie, which is `SameSite=Strict`. It sends the cookie when a page of the hub navigates.
 */
export const reopenPage = (path: string): Response =>
  page({
    title: "One moment",
    refresh: path,
    body: `<p><a href="${escapeHtml(path)}">Continue</a></p>`,
  });

const LOGO = `<svg width="28" height="28" viewBox="0 0 26 26" aria-hidden="true" fill="none"><rect x=".5" y=".5" width="25" height="25" rx="6" class="head"/><path d="M4 18.5h18" stroke="#6d7b74" stroke-width="2"/><path d="M4 18.5h5.2c2 0 2.6-1 3.4-2.6l2-4.2c.8-1.7 1.6-2.7 3.6-2.7H22" stroke="#ffd977" stroke-width="2"/><circle cx="20.2" cy="5" r="2.1" fill="#3ddc91"/></svg>`;

/** The colours are those of the web UI. */
const STYLE = `
:root{color-scheme:light dark;--page:light-dark(#eef1ed,#0e1412);--plate:light-dark(#fbfcfa,#18211d);--line:light-dark(#d0d8d1,#2a3731);--field:light-dark(#7d8a82,#75857d);--hover:light-dark(#e8ede7,#202b26);--ink:light-dark(#16201b,#e7eee9);--ink-2:light-dark(#45524b,#acbab2);--blue:light-dark(#1d4f9e,#92b9f6);--on-blue:light-dark(#fff,#0a1526);--amber:light-dark(#7f4a00,#f1b751);--amber-tint:light-dark(#f8ead0,#33260d)}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;grid-template-columns:minmax(0,480px);justify-content:center;align-items:center;padding:24px;background:var(--page);color:var(--ink);font:450 13.5px/20px "Archivo Variable",system-ui,sans-serif}
main{min-width:0;background:var(--plate);border:1px solid var(--line);border-radius:6px;padding:24px;box-shadow:0 1px 2px rgb(0 0 0/.1),0 4px 14px rgb(0 0 0/.08)}
header{display:flex;align-items:center;gap:12px;font-weight:600;color:var(--ink-2)}
.head{fill:#18201c;stroke:light-dark(#18201c,#6a7a72)}
h1{font-size:22px;line-height:28px;font-weight:660;margin:16px 0 12px;overflow-wrap:anywhere}
h2{font-size:13.5px;margin:16px 0 4px}
ul{margin:0;padding-left:20px}
dl{display:grid;grid-template-columns:88px 1fr;gap:4px 12px;margin:16px 0}
dt{color:var(--ink-2)}dd{margin:0;overflow-wrap:anywhere}
code{font:450 12px/18px "Red Hat Mono Variable",ui-monospace,monospace;color:var(--ink-2)}
a{color:var(--blue)}
.warn{background:var(--amber-tint);color:var(--amber);border-radius:6px;padding:8px 12px;margin:0 0 12px}
form{display:flex;gap:8px;flex-wrap:wrap;align-items:end;margin-top:16px}
label{display:grid;gap:4px;flex:1;color:var(--ink-2)}
input,button{font:inherit;color:var(--ink);background:var(--plate);border:1px solid var(--field);border-radius:6px;padding:7px 14px;min-height:36px}
input{letter-spacing:.1em;text-transform:uppercase;width:100%}
button{font-weight:600;cursor:pointer}button:hover{background:var(--hover)}
.primary{background:var(--blue);color:var(--on-blue);border-color:var(--blue)}.primary:hover{background:var(--blue);filter:brightness(1.1)}
:focus-visible{outline:2px solid var(--blue);outline-offset:2px}
`;
