import { join } from 'node:path';
import type { SyncInterval } from '@runledger/local-servers/nats-server';
import { HEALTH_TOKEN_FILE } from './keys.ts';
import type { WebhookAllow } from './settings.ts';
import { withoutCredentials, type Views } from './components/database.ts';
import type { MetricsAddress } from './components/services.ts';

export interface BannerFacts {
  readonly url: string;
  /** The address that signs in the owner, once; undefined where the console is off. */
  readonly signIn: string | undefined;
  readonly apiKey: string;
  readonly deploymentId: string;
  readonly slots: string;
  readonly views: Views;
  readonly syncInterval: SyncInterval;
  readonly dataFolder: string;
  /** Commands find the data folder by themselves, from the folder of the repository. */
  readonly isUsualFolder: boolean;
  readonly metrics: readonly MetricsAddress[];
  readonly webhookAllow: WebhookAllow;
}

/** The default port of `runledger listen`. */
const LISTEN_PORT = 9000;

/** What a newcomer needs when everything runs. The command lines can be pasted. */
export const banner = ({
  url,
  signIn,
  apiKey,
  deploymentId,
  slots,
  views,
  syncInterval,
  dataFolder,
  isUsualFolder,
  metrics,
  webhookAllow,
}: BannerFacts): string => {
  const rows = [
    ['API', url],
    ['reference', `${url}/docs`],
    ...(signIn === undefined
      ? []
      : [['console', `${signIn} (signs you in once, within 15 minutes)`] as const]),
    ['API key', apiKey],
    ['deployment', `${deploymentId} (the sample: paints a picture in about 3 s)`],
    ['GPU slots', slots],
    ['run views', viewsWords(views)],
    ['webhooks', webhookWords(webhookAllow)],
    ['durability', durabilityWords(syncInterval)],
    ['data', dataFolder],
    ...metrics.map(({ process, url: address }, index) => [
      index === 0 ? 'metrics' : '',
      `${address} (${process})`,
    ]),
    ['', `with the header "Authorization: Bearer", and the token in ${join(dataFolder, HEALTH_TOKEN_FILE)}`],
  ] as const;
  const command = (words: string): string =>
    `${isUsualFolder ? '' : `RUNLEDGER_DATA_DIR=${quoted(dataFolder)} `}npx runledger ${words}`;
  const header = `-H 'Authorization: Bearer ${apiKey}'`;
  const listening = webhookAllow.entries.includes('loopback') ? listen(url) : undefined;
  const body = JSON.stringify({
    deployment_id: deploymentId,
    inputs: { palette: 'ember' },
    ...(listening && { webhook: listening.webhook }),
  });
  return `
Runledger is ready.

${rows.map(([name = '', value]) => `  ${name.padEnd(11)} ${value}`).join('\n')}

Queue a run, then read it with the run_id of the answer:

  curl -s ${url}/run/deployment/queue ${header} -H 'Content-Type: application/json' -d '${body}'
  curl -s ${url}/run/RUN_ID ${header}
${listening ? `\nTo receive its webhook, run in another terminal, before or after: ${command(listening.words)}` : ''}
Or queue a run and watch it, in another terminal: ${command('queue --watch')}
Ctrl-C stops everything. The next start has the same runs and the same key.
`;
};

/** A receiver for trying webhooks, at another port than the API. */
const listen = (url: string): { readonly webhook: string; readonly words: string } => {
  const port = new URL(url).port === String(LISTEN_PORT) ? LISTEN_PORT + 1 : LISTEN_PORT;
  const option = port === LISTEN_PORT ? '' : ` --port ${port}`;
  return { webhook: `http://127.0.0.1:${port}/hook`, words: `listen${option}` };
};

/** As one word of a shell. */
const quoted = (path: string): string =>
  /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;

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
