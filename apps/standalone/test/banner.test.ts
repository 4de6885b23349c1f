import { describe, expect, it } from 'vitest';
import { banner } from '../src/banner.ts';
import { withoutCredentials } from '../src/components/database.ts';

const facts = {
  url: 'http://127.0.0.1:8080/api',
  signIn: 'http://127.0.0.1:8080/console/sign-in#token=a.b',
  apiKey: 'rl_key',
  deploymentId: 'd1',
  slots: 'A10G:2',
  views: { kind: 'given', url: 'mongodb://user:p%40ss@db:27017/runledger?authSource=admin' },
  syncInterval: 'always',
  dataFolder: '/data',
  isUsualFolder: true,
  metrics: [
    { process: 'gateway', url: 'http://127.0.0.1:40001/metrics' },
    { process: 'scheduler', url: 'http://127.0.0.1:40002/metrics' },
  ],
  webhookAllow: { entries: ['loopback'], isSet: false },
} as const;

it('shows everything a newcomer needs, without the password of the database', () => {
  const text = banner(facts);
  for (const part of ['http://127.0.0.1:8080/api', 'rl_key', 'd1', 'A10G:2', '/data', 'on disk', 'Ctrl-C'])
    expect(text).toContain(part);
  expect(text).toContain('MongoDB at mongodb://db:27017/runledger (MONGODB_URL)');
  expect(text).not.toContain('p%40ss');
});

it('shows the address of the API reference, in a line like the others', () => {
  expect(banner(facts)).toContain(
    '\n  API         http://127.0.0.1:8080/api\n  reference   http://127.0.0.1:8080/api/docs\n',
  );
});

it('shows the console with the link that signs the owner in, unless it is off', () => {
  expect(banner(facts)).toContain(
    '\n  console     http://127.0.0.1:8080/console/sign-in#token=a.b (signs you in once, within 15 minutes)\n',
  );
  expect(banner({ ...facts, signIn: undefined })).not.toContain('console');
});

it('shows where each process serves its metrics, and where their token is', () => {
  expect(banner(facts)).toContain(
    '\n  metrics     http://127.0.0.1:40001/metrics (gateway)\n              http://127.0.0.1:40002/metrics (scheduler)\n' +
      '              with the header "Authorization: Bearer", and the token in /data/health-token\n',
  );
});

it('has commands that name a data folder which they would not find', () => {
  expect(banner(facts)).toContain('terminal: npx runledger queue --watch\n');
  const text = banner({ ...facts, isUsualFolder: false, dataFolder: "/my data/it's" });
  const folder = String.raw`RUNLEDGER_DATA_DIR='/my data/it'\''s'`;
  expect(text).toContain(`before or after: ${folder} npx runledger listen\n`);
  expect(text).toContain(`terminal: ${folder} npx runledger queue --watch\n`);
});

it('warns of a power cut if messages are not flushed one by one', () => {
  const text = banner({ ...facts, syncInterval: '2s' });
  expect(text).toContain('a power cut may lose the last 2s (RUNLEDGER_SYNC_INTERVAL)');
  expect(text).not.toContain('every 200 is on disk');
});

describe('webhooks in the banner', () => {
  it('may go to loopback by default, and a command shows them', () => {
    const text = banner(facts);
    expect(text).toMatch(
      /webhooks +to public addresses, and to this machine \(loopback\) because \S+ is not set\n/,
    );
    expect(text).toContain('"webhook":"http://127.0.0.1:9000/hook"');
    expect(text).toContain('npx runledger listen\n');
  });

  it('go to another port if the API has the default one', () => {
    const text = banner({
      ...facts,
      url: 'http://127.0.0.1:9000/api',
      webhookAllow: { entries: ['loopback'], isSet: true },
    });
    expect(text).toContain('"webhook":"http://127.0.0.1:9001/hook"');
    expect(text).toContain('npx runledger listen --port 9001\n');
  });

  it.each([
    [[], true, 'to public addresses only (RUNLEDGER_WEBHOOK_ALLOW)'],
    [
      ['10.0.0.0/8', 'hooks.corp'],
      true,
      'to public addresses and 10.0.0.0/8,hooks.corp (RUNLEDGER_WEBHOOK_ALLOW)',
    ],
    [[], false, 'to public addresses only, since other machines reach the API'],
  ])('have no example on this machine if loopback is not allowed: %j', (entries, isSet, words) => {
    const text = banner({ ...facts, webhookAllow: { entries, isSet } });
    expect(text).toContain(words);
    expect(text).not.toContain('hook"');
    expect(text).not.toContain('runledger listen');
  });
});

it.each([
  ['mongodb://127.0.0.1:27017', 'mongodb://127.0.0.1:27017'],
  ['mongodb+srv://u:p@cluster/db?x=y@z', 'mongodb+srv://cluster/db'],
  ['mongodb://u:p@a:1,b:2/db', 'mongodb://a:1,b:2/db'],
])('%s is shown as %s', (url, shown) => {
  expect(withoutCredentials(url)).toBe(shown);
});
