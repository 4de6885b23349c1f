import type { SyncInterval } from '@runledger/local-servers/nats/nats-server';
import type { WebhookAllow } from './settings/webhook-allow.ts';
import type { Views } from './components/database.ts';

export interface BannerFacts {
  readonly url: string;
  readonly apiKey: string;
  readonly deploymentId: string;
  readonly slots: string;
  readonly views: Views;
  readonly syncInterval: SyncInterval;
  readonly dataFolder: string;
  readonly webhookAllow: WebhookAllow;
}

/** The default port of `runledger listen`. */
const LISTEN_PORT = 9000;

/** What a newcomer needs when everything runs. The command lines can be pasted. */
export const banner = ({
  url,
  apiKey,
  deploymentId,
  slots,
  views,
  syncInterval,
  dataFolder,
  webhookAllow,
}: BannerFacts): string => {
  const rows = [
    ['API', url],
    ['reference', `${url}/docs`],
    ['API key', apiKey],
    ['deployment', `${deploymentId} (the sample: paints a picture in about 3 s)`],
    ['GPU slots', slots],
    ['run views', viewsWords(views)],
    ['webhooks', webhookWords(webhookAllow)],
    ['durability', durabilityWords(syncInterval)],
    ['data', dataFolder],
  ] as const;
  const header = `-H 'Authorization: Bearer ${apiKey}'`;
  const listening = webhookAllow.entries.includes('loopback') ? listen(url) : undefined;
  const body = JSON.stringify({
    deployment_id: deploymentId,
    inputs: { palette: 'ember' },
    ...(listening && { webhook: listening.webhook }),
  });
  return `
Runledger is ready.

${rows.map(([name, value]) => `  ${name.padEnd(11)} ${value}`).join('\n')}

Queue a run, then read it with the run_id of the answer:

  curl -s ${url}/run/deployment/queue ${header} -H 'Content-Type: application/json' -d '${body}'
  curl -s ${url}/run/RUN_ID ${header}
${listening ? `\nTo receive its webhook, run in another terminal, before or after: ${listening.command}` : ''}
Or queue a run and watch it, in another terminal: npx runledger queue --watch
Ctrl-C stops everything. The next start has the same runs and the same key.
`;
};

/** A receiver for trying webhooks, at another port than the API. */
const listen = (url: string): { readonly webhook: string; readonly command: string } => {
  const port = new URL(url).port === String(LISTEN_PORT) ? LISTEN_PORT + 1 : LISTEN_PORT;
  const option = port === LISTEN_PORT ? '' : ` --port ${port}`;
  return { webhook: `http://127.0.0.1:${port}/hook`, command: `npx runledger listen${option}` };
};

const webhookWords = ({ entries, isSet }: WebhookAllow): string => {
  if (isSet) {
    const more = entries.length === 0 ? 'only' : `and ${entries.join(',')}`;
    return `to public addresses ${more} (RUNLEDGER_WEBHOOK_ALLOW)`;
  }
  return entries.length === 0
    ? 'to public addresses only, since other machines reach the API (RUNLEDGER_WEBHOOK_ALLOW adds others)'
    : 'to public addresses, and to this machine (loopback) because RUNLEDGER_WEBHOOK_ALLOW is not set';
};

const durabilityWords = (syncInterval: SyncInterval): string =>
  syncInterval === 'always'
    ? 'every 200 is on disk (each message is flushed before it is acknowledged)'
    : `a power cut may lose the last ${syncInterval} (RUNLEDGER_SYNC_INTERVAL)`;

const viewsWords = (views: Views): string => {
  switch (views.kind) {
    case 'given':
      return `MongoDB at ${withoutCredentials(views.url)} (MONGODB_URL)`;
    case 'mongod':
      return `mongod ${views.version} on PATH, started with this (${withoutCredentials(views.url)})`;
    case 'sqlite':
      return 'SQLite, in the data folder (set MONGODB_URL, or install mongod, to keep them in MongoDB)';
  }
};

export const withoutCredentials = (url: string): string =>
  url.replace(/^([a-z+]+:\/\/)(?:[^/?#]*@)?([^?#]*).*$/is, '$1$2');
