import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { Erasure } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { authenticate } from '@runledger/gateway/records/keys/api-keys';
import { catalogue } from '@runledger/gateway/records/catalogue/catalogue';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openDataFolder, type DataFolder } from '../src/data-folder/data-folder.ts';
import { createOrganisation, OPERATOR_SCOPES } from '../src/records/create-organisation.ts';
import { openFirstOrganisation, type FirstOrganisation } from '../src/records/first-organisation.ts';
import { temporaryFolder } from './fixtures/temporary-folder.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
beforeAll(async () => {
  const nats = opened.use(await testAccount());
  log = opened.use(await openEventLog({ ...nats.login, name: 'test' }, silentLogger));
  await provision(log);
});
afterAll(() => opened.disposeAsync());

const now = (): Date => new Date('2026-05-01T12:00:00.000Z');

const dataFolder = async (): Promise<DataFolder> => {
  const result = await openDataFolder(temporaryFolder(), now);
  if (!result.ok) throw new Error(result.why);
  onTestFinished(() => result.folder[Symbol.asyncDispose]());
  return result.folder;
};

const start = (
  folder: DataFolder,
  changes: { apiKey?: string; gpu?: 'T4' } = {},
): Promise<FirstOrganisation> =>
  openFirstOrganisation(folder, log, { apiKey: undefined, gpu: 'A10G', now, ...changes });

describe('the first organisation of a standalone', () => {
  it('has a key that is stored as a hash, and a consistent sample', async () => {
    const folder = await dataFolder();
    const first = await start(folder);
    expect(first.api_key).toMatch(/^rl_[\w-]{43}$/);
    expect(await authenticate(log, first.api_key)).toMatchObject({
      org_id: first.org_id,
      user_id: first.user_id,
    });

    const records = catalogue(log);
    const deployment = await records.deployments.get(first.org_id, first.deployment_id);
    const machine = await records.machines.get(first.org_id, deployment?.machine_id ?? '');
    const version = await records.versions.get(first.org_id, deployment?.workflow_version_id ?? '');
    expect(machine).toMatchObject({ gpu: 'A10G', runner: { kind: 'program', program: 'render-image' } });
    expect(version).toMatchObject({ workflow_id: deployment?.workflow_id, number: 1 });
    expect(version?.inputs.map(({ name }) => name)).toEqual(['size', 'iterations', 'seconds', 'palette']);
    expect(statSync(folder.at('first-organisation.json')).mode & 0o777).toBe(0o600);
  });

  it('is the same at the next start', async () => {
    const folder = await dataFolder();
    expect(await start(folder)).toEqual(await start(folder));
  });

  it('is not made again when it was erased', async () => {
    const folder = await dataFolder();
    const { org_id, user_id } = await start(folder);
    await openBucket(log, 'CATALOGUE', Erasure).create(`erasures.${org_id}`, {
      org_id,
      requested_at: now().toISOString(),
      requested_by: { org_id: newUuid(), user_id, key_id: newUuid() },
      quiet_at: null,
      erased_at: null,
      erases: { keys: 0, runs: 0, files: 0 },
    });
    await expect(start(folder)).rejects.toThrow(
      /was erased\. Remove .*first-organisation\.json to start with a new organisation/,
    );
  });

  it('has a key with all scopes, including operator', async () => {
    const { org_id, api_key } = await start(await dataFolder());
    const keyed = { org_id, scopes: ['runs:write', 'admin', 'operator'] };
    expect(await authenticate(log, api_key)).toMatchObject(keyed);
  });

  it('is completed by the next start if the first one was interrupted after it wrote its file', async () => {
    const other = await dataFolder();
    const decided = {
      ...(await start(other)),
      org_id: '01920000-0000-7000-8000-0000000000aa',
      api_key: 'rl_decided-but-not-stored',
    };
    const folder = await dataFolder();
    writeFileSync(folder.at('first-organisation.json'), JSON.stringify(decided));
    await start(folder);
    expect(await authenticate(log, decided.api_key)).toMatchObject({ org_id: decided.org_id });
  });

  it('takes a given key, at the first start or later, and revokes the previous one', async () => {
    const folder = await dataFolder();
    const first = await start(folder, { apiKey: 'a-key-of-my-own-1' });
    expect(first.api_key).toBe('a-key-of-my-own-1');
    const changed = await start(folder, { apiKey: 'a-key-of-my-own-2' });
    expect(changed).toEqual({ ...first, api_key: 'a-key-of-my-own-2' });
    expect(await authenticate(log, 'a-key-of-my-own-1')).toBeUndefined();
    expect(await authenticate(log, 'a-key-of-my-own-2')).toMatchObject({ org_id: first.org_id });
    expect(await start(folder)).toEqual(changed);
    expect(readFileSync(folder.at('first-organisation.json'), 'utf8')).not.toContain('a-key-of-my-own-1');
  });

  it('runs its sample on the present GPU of the machine', async () => {
    const folder = await dataFolder();
    const first = await start(folder);
    await start(folder, { gpu: 'T4' });
    expect(await catalogue(log).machines.get(first.org_id, first.machine_id)).toMatchObject({ gpu: 'T4' });
  });

  it('is not replaced if its file is invalid', async () => {
    const folder = await dataFolder();
    writeFileSync(folder.at('first-organisation.json'), '{}');
    await expect(start(folder)).rejects.toThrow(
      /first-organisation\.json cannot be used: .* remove it to start/,
    );
  });
});

it('another organisation has its own key, user and sample', async () => {
  const [one, other] = [
    await createOrganisation(log, 'one', now),
    await createOrganisation(log, 'other', now),
  ];
  expect(one.org_id).not.toBe(other.org_id);
  expect(await authenticate(log, one.api_key)).toMatchObject({
    org_id: one.org_id,
    scopes: ['runs:write', 'admin'],
  });
  expect(await catalogue(log).deployments.get(one.org_id, one.deployment_id)).toMatchObject({
    archived: false,
  });
  expect(await catalogue(log).deployments.get(other.org_id, one.deployment_id)).toBeUndefined();
  const operators = await createOrganisation(log, 'operators', now, OPERATOR_SCOPES);
  expect(await authenticate(log, operators.api_key)).toMatchObject({
    scopes: ['runs:write', 'admin', 'operator'],
  });
});
