/** What the address has behind its `#` under a name. It is taken out of it, so that it stays in no history, and nobody copies it with the address. */
export const consumeFromAddress = (name: 'token' | 'answer'): string | undefined => {
  const text = new URLSearchParams(location.hash.slice(1)).get(name);
  if (text === null) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return text;
};
