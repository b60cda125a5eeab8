/** The paths of the authorization server's pages. */
export const AUTHORIZE = "/oauth/authorize";
export const DEVICE = "/oauth/device";
