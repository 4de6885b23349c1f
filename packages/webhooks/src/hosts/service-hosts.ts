/** The servers in NATS_URL, as `host:port`. */
export const brokerHosts = (urls: string): string[] =>
  urls.split(',').flatMap((text) => brokerHost(text.trim()));

const brokerHost = (text: string): string[] =>
  hostIn(/^[a-z]+:\/\//i.test(text) ? text : `nats://${text}`, '4222');

/** The host of an http or https URL, as `host:port`; empty for any other text. */
export const httpHost = (text: string): string[] => hostIn(text, text.startsWith('https:') ? '443' : '80');

const hostIn = (text: string, defaultPort: string): string[] => {
  const url = URL.parse(text);
  return url && url.hostname !== '' ? [`${url.hostname}:${url.port || defaultPort}`] : [];
};
