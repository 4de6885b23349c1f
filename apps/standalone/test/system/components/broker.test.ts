import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Operator } from '../../../src/data-folder/connection-files.ts';
import { openDataFolder, type DataFolder } from '../../../src/data-folder/data-folder.ts';
import { startBroker, type Broker } from '../../../src/components/broker.ts';
import { isAlive } from '../../fixtures/processes.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const dataFolder = async (open: AsyncDisposableStack): Promise<DataFolder> => {
  const result = await openDataFolder(temporaryFolder(), () => new Date());
  if (!result.ok) throw new Error(result.why);
  mkdirSync(result.folder.at('logs'));
  return open.use(result.folder);
};

const startOn = (
  open: AsyncDisposableStack,
  folder: DataFolder,
  print: (line: string) => void = () => undefined,
): Promise<Broker> =>
  startBroker(open, folder, process.env, { syncInterval: 'always', executors: ['box'] }, print);

const logOf = ({ nats_url: url, nats_nkey: seed }: Operator): Promise<EventLog> =>
  openEventLog({ url, seed, name: 'test' }, silentLogger);

const whileOpen = async <Result>(use: (open: AsyncDisposableStack) => Promise<Result>): Promise<Result> => {
  await using open = new AsyncDisposableStack();
  return await use(open);
};

const pidOf = (folder: DataFolder): number =>
  JSON.parse(readFileSync(folder.at('processes/nats-server.json'), 'utf8')).pid;

const mode = (path: string): number => statSync(path).mode & 0o777;

it('a killed broker is back on the same port with the same data', async () => {
  await using open = new AsyncDisposableStack();
  const folder = await dataFolder(open);
  const printed: string[] = [];
  const { operator } = await startOn(open, folder, (line) => void printed.push(line));

  const log = open.use(await logOf(operator));
  await log.jsm.streams.add({ name: 'KEPT', subjects: ['kept'] });
  await log.js.publish('kept', 'one');
  process.kill(pidOf(folder), 'SIGKILL');
  const kept = await waitFor('the stream to be back', () => log.jsm.streams.getMessage('KEPT', { seq: 1 }));
  expect(kept.string()).toBe('one');
  expect(printed).toContain('nats-server ended (killed by SIGKILL). Restarting it in 0.5 s.');
});

describe('the keys of a broker', () => {
  it('are in files that only the owner may read, one for each service, and new at each start', async () => {
    const folderOf = new AsyncDisposableStack();
    onTestFinished(() => folderOf.disposeAsync());
    const folder = await dataFolder(folderOf);
    const former = await whileOpen(async (open) => (await startOn(open, folder)).operator.nats_nkey);
    await whileOpen(async (open) => {
      const { operator } = await startOn(open, folder);
      await using log = await logOf(operator);
      expect(log.connected()).toBe(true);
      await expect(logOf({ ...operator, nats_nkey: former })).rejects.toMatchObject({ code: 'not_allowed' });
    });
    expect(isAlive(pidOf(folder))).toBe(false);
    const users = ['debugger', 'executor-box', 'gateway', 'notifier', 'operator', 'scheduler', 'system'];
    expect(readdirSync(folder.at('keys')).toSorted()).toEqual(users.map((user) => `${user}.nk`));
    expect(mode(folder.at('keys'))).toBe(0o700);
    for (const user of users) expect(mode(folder.at(`keys/${user}.nk`))).toBe(0o600);
    expect(mode(folder.at('operator.json'))).toBe(0o600);
  });
});
