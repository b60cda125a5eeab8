/** The nonce of the page's CSP, for style elements that scripts add. */
export const nonce: string =
  document.querySelector<HTMLMetaElement>("meta[property='csp-nonce']")?.nonce ?? "";
