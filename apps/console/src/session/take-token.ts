/** The token behind the `#` of the address. It is taken out of it, so that it stays in no history, and nobody copies it with the address. */
export const takeToken = (): string | undefined => {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token === null) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return token;
};
